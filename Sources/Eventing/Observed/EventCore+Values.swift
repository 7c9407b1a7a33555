// How the value of an `Observed` changes. The mutex is held for the assignment alone.
extension EventCore {
  /// Locks the mutex if a change of the value takes no more than an assignment and a delivery by
  /// this thread. A change takes more if work is enqueued, if a handler wants a call before each
  /// change, or if ``ReplayValue/needsSlowChange`` is true. That flag is true after a tracked read,
  /// for a value in a combination, and while an `update` repeats its closure. Isolation: core.
  ///
  /// - Returns: Whether this thread may assign the value. If so, the mutex is locked, and the
  ///   caller unlocks it by ``endChange(_:)``.
  @usableFromInline func beginChange(_ pendingWork: PendingWork) -> Bool {
    mutex.lock()
    if unsafe pendingWork.mailbox.items.isEmpty && pendingWork.priorHandlerCount == 0
      && !pendingWork.replayValue.needsSlowChange
    {
      return true
    }
    mutex.unlock()
    return false
  }

  /// Unlocks the mutex after a change that is delivered at once. From now on a new handler receives
  /// the current value. Isolation: core.
  @usableFromInline func endChange(_ pendingWork: PendingWork) {
    unsafe pendingWork.replayValue.isCurrent = true
    let outdated = unsafe pendingWork.replayValue.value == nil ? nil : pendingWork.replayValue.take()
    mutex.unlock()
    _ = consume outdated  // destroyed after the mutex is released
  }

  /// A copy of the value that a new handler receives; `nil` if the event has no such value.
  /// Isolation: core.
  var replayValue: OwnedPayload? {
    let pendingWork = pendingWork
    return mutex.withLock {
      unsafe pendingWork.replayValue.isCurrent
        ? pendingWork.replayValue.makeCurrent?() : pendingWork.replayValue.value?.copy()
    }
  }
}
