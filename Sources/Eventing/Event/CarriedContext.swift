public import Synchronization

/// The carried values of one sender.
@usableFromInline final class CarriedContext: Sendable {
  /// Whether any task-local is carried.
  @usableFromInline static let isOn = Atomic<Bool>(false)

  @inlinable static var isCarrying: Bool { isOn.load(ordering: .relaxed) }

  private let values: [any ContextValue]

  init(_ values: [any ContextValue]) { self.values = values }

  /// Returns the carried values of the calling task, or `nil` if none are carried.
  @usableFromInline static func current() -> CarriedContext? {
    isOn.load(ordering: .acquiring) ? ContextRegistry.shared.capture() : nil
  }

  /// Runs `body` with the values bound.
  @usableFromInline func run<Result>(_ body: () -> Result) -> Result { run(from: 0, body) }

  private func run<Result>(from index: Int, _ body: () -> Result) -> Result {
    index == values.count ? body() : values[index].bind { run(from: index + 1, body) }
  }

  /// Runs an asynchronous `body` with the values bound. Does not leave the actor `place` before or
  /// after `body`, and suspends only where `body` does.
  @usableFromInline func run<Result>(on place: isolated (any Actor)?, _ body: () async -> Result) async -> Result {
    await run(from: 0, on: place, body)
  }

  private func run<Result>(from index: Int, on place: isolated (any Actor)?, _ body: () async -> Result) async -> Result
  {
    if index == values.count { return await body() }
    return await values[index].bind(on: place) {
      _ = place
      return await run(from: index + 1, on: place, body)
    }
  }
}

protocol ContextValue: Sendable {
  func bind<Result>(_ body: () -> Result) -> Result
  func bind<Result>(on place: isolated (any Actor)?, _ body: () async -> Result) async -> Result
}

struct BoundValue<Value: Sendable>: ContextValue {
  let local: TaskLocal<Value>
  let value: Value

  func bind<Result>(_ body: () -> Result) -> Result { local.withValue(value, operation: body) }
  func bind<Result>(on place: isolated (any Actor)?, _ body: () async -> Result) async -> Result {
    await local.withValue(value, operation: body)
  }
}
