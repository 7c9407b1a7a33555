import Synchronization

/// The task-local link from a task to the invocation that it belongs to.
@usableFromInline package enum Context {
  /// The invocation that the current task belongs to. Bound around asynchronous calls, so that a
  /// call's child tasks, and each `Task {}` that the call starts, inherit the invocation.
  package static let invocation = TaskLocal<Invocation?>(wrappedValue: nil)
}

/// Calls of one handler, one after the other, on one execution slot.
///
/// Binding a task-local value takes about 70 ns on x86-64 Linux, so one binding serves many calls.
/// If a call leaves a task behind, that task may wait while the next call runs. Its wait would then
/// be mistaken for a wait of the next call. So in that case the next call gets an `Invocation` of
/// its own; see ``RuntimeSPI/references(to:)``.
@usableFromInline package final class Invocation: Sendable {
  package let executionSlot: ExecutionSlot
  /// Whether the calls are over. If so, a task that still has this invocation has outlived its
  /// call, and nothing waits for that call.
  let isOver = Atomic<Bool>(false)

  package init(_ executionSlot: ExecutionSlot) { self.executionSlot = executionSlot }

  /// Marks the calls as over.
  func end() { isOver.publish(true) }

  /// Ends an invocation if a task that the call started still retains the invocation. Returns
  /// whether there is such a task.
  ///
  /// Called before the lane reports the outcome of the call. Otherwise the sender could learn of
  /// the end of the call while the task still counted as part of the call. If the task then sent an
  /// occurrence to the handler, its wait would be mistaken for a wait of the call, and the `send`
  /// would defer the handler, although the call was over.
  ///
  /// - Parameter references: The number of references to the invocation before the call.
  @inline(__always) static func endIfShared(
    _ invocation: Unmanaged<Invocation>, since references: UInt
  ) -> Bool {
    guard unsafe RuntimeSPI.references(to: invocation) != references else { return false }
    unsafe invocation._withUnsafeGuaranteedRef { $0.end() }
    return true
  }

  /// The invocation that the calling task belongs to: calls of a handler, or a loop over a
  /// sequence.
  package static var current: Invocation? {
    Context.invocation.get().flatMap { $0.isCurrent ? $0 : nil } ?? ConsumerTasks.invocation
  }

  /// Whether the calls go on: false after ``end()``.
  var isCurrent: Bool { !isOver.load(ordering: .acquiring) }
}
