import Foundation
import Testing

/// The trait of every suite: two tests at a time for each core.
///
/// Swift Testing starts all tests at once. On two cores, hundreds of their threads then compete with
/// the tasks that must open a gate, and a step of a millisecond takes a minute.
struct FewAtATime: SuiteTrait, TestTrait, TestScoping {
  private static let places = AsyncSemaphore(2 * ProcessInfo.processInfo.activeProcessorCount)

  var isRecursive: Bool { true }

  func scopeProvider(for test: Test, testCase: Test.Case?) -> Self? { testCase == nil ? nil : self }

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
  ) async throws {
    await Self.places.take()
    defer { Self.places.pass() }
    try await function()
  }
}

extension Trait where Self == FewAtATime {
  static var fewAtATime: Self { Self() }
}
