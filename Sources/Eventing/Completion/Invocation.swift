public import Synchronization

/// What a task knows of the handler call that it belongs to.
@usableFromInline enum Context {
  /// The call that is running: bound around asynchronous calls, and so known to their child tasks and to each `Task {}` that they start.
  @usableFromInline static let running = TaskLocal<Invocation?>(wrappedValue: nil)
}

/// Calls of one handler, one after the other on one executionSlot, for as long as nothing outlives a call that knows of it.
///
/// Binding a task-local value costs 70 ns, so it is bound for many calls. If a call leaves a task behind, which may wait for something while the
/// next call runs, that would be taken for a wait of that next call: so then the next call gets a `Invocation` of its own (``references(to:)``).
@usableFromInline final class Invocation: Sendable {
  @usableFromInline let executionSlot: ExecutionSlot
  /// A task that still has it outlived its call: nobody waits for that call any more.
  @usableFromInline let isOver = Atomic<Bool>(false)

  @usableFromInline init(_ executionSlot: ExecutionSlot) { self.executionSlot = executionSlot }

  @usableFromInline func end() { isOver.publish(true) }

  /// Of the calling task: the call of a handler, or a loop.
  static var current: Invocation? { Context.running.get().flatMap { $0.isCurrent ? $0 : nil } ?? ConsumerTasks.running }

  @usableFromInline var isCurrent: Bool { !isOver.load(ordering: .acquiring) }

  /// How many references there are; more than when the calls began: a call left a task behind.
  ///
  /// The standard library has no other way to see that: `isKnownUniquelyReferenced` wants exactly one, and the compiler may keep another beside the binding's.
  @usableFromInline @inline(__always) static func references(to running: Unmanaged<Invocation>) -> UInt {
    unsafe running._withUnsafeGuaranteedRef { _getRetainCount($0) }
  }
}
