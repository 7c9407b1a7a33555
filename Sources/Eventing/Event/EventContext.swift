public import Synchronization

/// The task-local values that travel with an occurrence to its handlers.
///
///     EventContext.propagate(RequestID.$current)   // once, when the program starts
///
/// A handler on a lane runs in a separate task or block, which doesn't have the sender's task-local
/// values. A queued occurrence may be delivered on another thread. In both cases, the handler sees
/// the sender's values of the propagated task-locals. When a new handler receives past payloads
/// (see ``EventReplay``), it sees the values of the task that added it.
///
/// Priority isn't propagated. A lane has the priority set by its delivery. An
/// ``AsyncDelivery/task`` handler of a `send` is a child task of the sender and has the sender's
/// priority. As usual, if a task awaits another task, Swift escalates the priority of the awaited
/// task.
public enum EventContext {
  /// Propagates a task-local value with every occurrence sent from now on, in the whole process.
  ///
  /// Callable from any thread. Each occurrence that goes to a lane or is queued then costs one more
  /// allocation.
  ///
  /// - Parameter value: The projected value of the task-local, such as `RequestID.$current`.
  /// - Returns: A registration whose ``EventRegistration/end()`` stops the propagation. Occurrences
  ///   that are already queued keep their values. Each call of `propagate` must be ended
  ///   separately.
  @discardableResult public static func propagate<Value: Sendable>(_ value: TaskLocal<Value>) -> EventRegistration {
    let id = ContextRegistry.add { BoundValue(local: value, value: value.get()) }
    return EventRegistration { ContextRegistry.remove(id) }
  }

  /// The executor on which the asynchronous handlers of the caller's events run; `nil` for Swift's
  /// default. Use it for tasks that work together with such handlers.
  ///
  ///     Task(executorPreference: EventContext.executor) { await upload(file) }
  ///
  /// It's `nil` unless a test tool provides an executor, as simulations in EventingTesting do. A
  /// program that starts its tasks this way can be simulated without importing the test tools. On
  /// Linux, a simulation also runs tasks without an executor preference.
  ///
  /// Child tasks inherit the preference; `Task {}` doesn't. Callable from any thread and inside
  /// handlers.
  ///
  /// - Complexity: O(1).
  public static var executor: (any TaskExecutor)? { Scheduling.currentSimulation ?? Scheduling.executor }
}

private enum ContextRegistry {
  private static let state = Guarded((last: 0, captures: [(id: Int, capture: @Sendable () -> any ContextValue)]()))

  static func add(_ capture: @escaping @Sendable () -> any ContextValue) -> Int {
    state.withLock { state in
      state.last += 1
      state.captures.append((state.last, capture))
      CarriedContext.sources.wrappingAdd(1, ordering: .relaxed)
      CarriedContext.isOn.publish(true)
      return state.last
    }
  }

  static func remove(_ id: Int) {
    let gone = state.withLock { state in
      let gone = state.captures.filter { $0.id == id }
      state.captures.removeAll { $0.id == id }
      CarriedContext.sources.wrappingSubtract(gone.count, ordering: .relaxed)
      if state.captures.isEmpty { CarriedContext.isOn.publish(false) }
      return gone
    }
    withExtendedLifetime(gone) {}
  }

  static func capture() -> [any ContextValue] {
    // Copied, because the array is modified in place under the mutex and must not be read without
    // it.
    let captures = state.withLock { $0.captures.map(\.capture) }
    return captures.map { $0() }
  }
}

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
    return CarriedContext(isOn.load(ordering: .acquiring) ? ContextRegistry.capture() : [], CallCell.cause)
  }

  /// Also `nil` if the handler's own call is traced and has already bound its cell.
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

  /// Stays on the actor `place` before and after `body`, and suspends only where `body` does.
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
