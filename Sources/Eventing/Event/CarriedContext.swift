public import Synchronization

@usableFromInline final class CarriedContext: Sendable {
  @usableFromInline static let sources = Atomic<Int>(0)
  static let isOn = Atomic<Bool>(false)

  @inlinable static var isCarrying: Bool { sources.load(ordering: .relaxed) > 0 && isNeeded }

  @usableFromInline @inline(never) static var isNeeded: Bool { isOn.load(ordering: .relaxed) || CallCell.cause != 0 }

  private let values: [any ContextValue]
  private let cell: CallCell?

  private init(_ values: [any ContextValue], _ cause: UInt64) {
    self.values = values
    cell = cause == 0 ? nil : CallCell(cause)
  }

  static func current() -> CarriedContext? {
    guard isCarrying else { return nil }
    return CarriedContext(isOn.load(ordering: .acquiring) ? ContextRegistry.shared.capture() : [], CallCell.cause)
  }

  /// `nil` also if the handler's own call, which is traced, has bound its cell already.
  private var cellToBind: CallCell? {
    cell != nil && CallCell.current?.call.load(ordering: .relaxed) != CallCell.unused ? cell : nil
  }

  @inline(never) func run<Result>(_ body: () -> Result) -> Result {
    guard let cell = cellToBind else { return run(from: 0, body) }
    return CallCell.$current.withValue(cell) { run(from: 0, body) }
  }

  private func run<Result>(from index: Int, _ body: () -> Result) -> Result {
    index == values.count ? body() : values[index].bind { run(from: index + 1, body) }
  }

  /// Does not leave the actor `place` before or after `body`, and suspends only where `body` does.
  @inline(never) func run<Result>(on place: isolated (any Actor)?, _ body: () async -> Result) async
    -> Result
  {
    guard let cell = cellToBind else { return await run(from: 0, on: place, body) }
    return await CallCell.$current.withValue(cell) {
      _ = place
      return await run(from: 0, on: place, body)
    }
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
