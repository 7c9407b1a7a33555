import Foundation
import Testing

/// A trait that limits the number of tests that run at a time to two for each core.
///
/// Swift Testing starts all tests at once. On two cores, hundreds of their threads then compete
/// with the tasks that must open a gate, or return within a second. A step of a millisecond then
/// takes a minute.
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
