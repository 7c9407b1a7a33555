import Synchronization

@usableFromInline package enum Context {
  /// Bound around asynchronous calls, so that the tasks that a call starts inherit it.
  package static let invocation = TaskLocal<Invocation?>(wrappedValue: nil)
}

/// Binding a task-local value takes about 70 ns on x86-64 Linux, so one binding serves many calls.
/// But the wait of a task that a call has left behind would be mistaken for a wait of the next
/// call. Then that call gets an `Invocation` of its own; see ``RuntimeSPI/references(to:)``.
@usableFromInline package final class Invocation: Sendable {
  package let executionSlot: ExecutionSlot
  /// A task that still has the invocation then has outlived its call.
  let isOver = Atomic<Bool>(false)

  package init(_ executionSlot: ExecutionSlot) { self.executionSlot = executionSlot }

  func end() { isOver.publish(true) }

  /// Called before the lane reports the outcome. Otherwise a `send` by such a task could still
  /// defer the handler, although the sender of the call already knows that the call is over.
  @inline(__always) static func endIfShared(
    _ invocation: Unmanaged<Invocation>, since references: UInt
  ) -> Bool {
    guard unsafe RuntimeSPI.references(to: invocation) != references else { return false }
    unsafe invocation._withUnsafeGuaranteedRef { $0.end() }
    return true
  }

  package static var current: Invocation? {
    Context.invocation.get().flatMap { $0.isCurrent ? $0 : nil } ?? ConsumerTasks.invocation
  }

  var isCurrent: Bool { !isOver.load(ordering: .acquiring) }
}
