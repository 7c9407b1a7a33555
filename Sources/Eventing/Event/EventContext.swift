public import Synchronization

/// The task-local values that reach handlers wherever they run.
///
///     EventContext.carry(RequestID.$current)   // once, when the program starts
///
/// A handler that runs elsewhere runs in a task or a block of its own, which has no task-local values; one of an occurrence that had to wait for its turn may run on
/// another thread. Values that are named here are those of the sender in both cases. (What a newcomer is told of
/// what was sent before, it is told with the values of whoever adds it.)
///
/// Priority is not carried: a lane has the one that its delivery says, a `.task` handler of a `send` is a child task of the sender, at its priority, and whoever awaits a
/// task escalates it as far as Swift does.
public enum EventContext {
  /// What ends the carrying of a value.
  public struct Carrying: Sendable {
    let id: Int
    /// From now on it is carried no more.
    public func end() { ContextRegistry.shared.remove(id) }
  }

  /// Carries a value from now on, for the whole process; each occurrence that goes to a lane, or waits, costs an allocation more.
  @discardableResult public static func carry<Value: Sendable>(_ value: TaskLocal<Value>) -> Carrying {
    Carrying(id: ContextRegistry.shared.add { BoundValue(local: value, value: value.get()) })
  }
}

/// What is carried.
// Safe: what changes is guarded by `mutex`.
final class ContextRegistry: @unchecked Sendable {
  static let shared = ContextRegistry()

  private let mutex = UnfairMutex()
  @exclusivity(unchecked) private var captures: [(id: Int, capture: @Sendable () -> any ContextValue)] = []
  @exclusivity(unchecked) private var next = 0

  func add(_ capture: @escaping @Sendable () -> any ContextValue) -> Int {
    mutex.withLock {
      unsafe next += 1
      unsafe captures.append((next, capture))
      CarriedContext.isOn.publish(true)
      return unsafe next
    }
  }

  func remove(_ id: Int) {
    let gone = mutex.withLock {
      let gone = unsafe captures.filter { $0.id == id }
      unsafe captures.removeAll { $0.id == id }
      if unsafe captures.isEmpty { CarriedContext.isOn.publish(false) }
      return gone
    }
    withExtendedLifetime(gone) {}
  }

  /// The values as they are here.
  func capture() -> CarriedContext? {
    let captures = mutex.withLock { unsafe self.captures.map(\.capture) }  // no array leaves the lock that is changed in place there
    return captures.isEmpty ? nil : CarriedContext(captures.map { $0() })
  }
}

/// The values of one sender.
@usableFromInline final class CarriedContext: Sendable {
  /// Whether anything is carried at all.
  @usableFromInline static let isOn = Atomic<Bool>(false)

  @inlinable static var isCarrying: Bool { isOn.load(ordering: .relaxed) }

  private let values: [any ContextValue]

  init(_ values: [any ContextValue]) { self.values = values }

  /// Of whoever is running; nil if nothing is carried.
  @usableFromInline static func current() -> CarriedContext? {
    isOn.load(ordering: .acquiring) ? ContextRegistry.shared.capture() : nil
  }

  @usableFromInline func run<Result>(_ body: () -> Result) -> Result { run(from: 0, body) }

  private func run<Result>(from index: Int, _ body: () -> Result) -> Result {
    index == values.count ? body() : values[index].bind { run(from: index + 1, body) }
  }

  /// The same for what awaits; it neither leaves the actor nor suspends by itself.
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

private struct BoundValue<Value: Sendable>: ContextValue {
  let local: TaskLocal<Value>
  let value: Value

  func bind<Result>(_ body: () -> Result) -> Result { local.withValue(value, operation: body) }
  func bind<Result>(on place: isolated (any Actor)?, _ body: () async -> Result) async -> Result {
    await local.withValue(value, operation: body)
  }
}
