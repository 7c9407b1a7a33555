// How the value of an `Observed` changes. The mutex is held for the assignment alone.
// Isolation: core.
extension EventCore {
  /// True if an assignment and a delivery by this thread are enough. The mutex is then locked until
  /// ``endChange(_:)``.
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

  @usableFromInline func endChange(_ pendingWork: PendingWork) {
    unsafe pendingWork.replayValue.isCurrent = true
    let outdated = unsafe pendingWork.replayValue.value == nil ? nil : pendingWork.replayValue.take()
    mutex.unlock()
    _ = consume outdated  // destroyed after the mutex is released
  }

  var replayValue: OwnedPayload? {
    let pendingWork = pendingWork
    return mutex.withLock {
      unsafe pendingWork.replayValue.isCurrent
        ? pendingWork.replayValue.makeCurrent?() : pendingWork.replayValue.value?.copy()
    }
  }
}
