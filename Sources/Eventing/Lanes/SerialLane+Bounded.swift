// With a bound what is dropped may be anywhere in line, so the drain takes one item at a time, under the lock.

extension SerialLane {
  func pushBounded(_ payload: BorrowedPayload, _ completion: Completion?) -> Bool {
    mutex.lock()
    let (isPaused, start) = (phase == .paused, phase == .idle)
    let dropped = unsafe bounded?.append(payload, completion)
    let waiters = isPaused && completion?.isAwaited == true ? detachWaiters() : DetachedWaiters()
    if !isPaused { phase = .running }
    mutex.unlock()
    release(waiters)
    if start { schedule() }
    guard let dropped else { return true }
    conclude(.dropped, dropped.completion, at: self)
    return !dropped.isNew
  }

  /// Under the lock.
  var isBoundedDry: Bool { unsafe bounded?.isEmpty ?? true }
}
