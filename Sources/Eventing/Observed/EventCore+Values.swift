// How the value of an `Observed` changes. The mutex is held for the assignment alone.
extension EventCore {
  /// Locks the mutex if a value may change at once. Nothing is enqueued, and no handler is called
  /// before a change. Isolation: core.
  ///
  /// - Parameter isHeldUp: Whether it may not, for another reason. Guarded by: mutex.
  /// - Returns: Whether the mutex is locked. ``endChange(_:)`` unlocks it.
  @usableFromInline func beginChange(_ pendingWork: PendingWork, unless isHeldUp: inout Bool) -> Bool {
    mutex.lock()
    if unsafe pendingWork.mailbox.items.isEmpty && pendingWork.priorHandlerCount == 0 && !isHeldUp { return true }
    mutex.unlock()
    return false
  }

  /// Unlocks the mutex after the change. A new handler receives the value as it is.
  @usableFromInline func endChange(_ pendingWork: PendingWork) {
    unsafe pendingWork.replayValue.isCurrent = true
    let outdated = unsafe pendingWork.replayValue.value == nil ? nil : pendingWork.replayValue.take()
    mutex.unlock()
    _ = consume outdated  // destroyed after the mutex is released
  }

  /// A copy of the value that a new handler receives. Isolation: core.
  var replayValue: OwnedPayload? {
    let pendingWork = pendingWork
    return mutex.withLock {
      unsafe pendingWork.replayValue.isCurrent
        ? pendingWork.replayValue.makeCurrent?() : pendingWork.replayValue.value?.copy()
    }
  }
}
