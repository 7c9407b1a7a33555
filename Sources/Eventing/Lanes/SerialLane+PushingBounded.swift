// A bounded lane may drop any call that waits. So its drain dequeues one item at a time, under the
// mutex, and does not take the whole queue.

extension SerialLane {
  /// Enqueues a call on a bounded lane. Returns false if there is no room, and the call is dropped.
  func pushBounded(_ payload: BorrowedPayload, _ completion: Completion?) -> Bool {
    mutex.lock()
    let (isPaused, start) = (phase == .paused, phase == .idle)
    let dropped = unsafe bounded?.append(payload, completion)
    let waiters = isPaused && completion?.isToBeTold == true ? detachWaiters() : DetachedWaiters()
    if !isPaused { phase = .running }
    mutex.unlock()
    release(waiters)
    if start { schedule() }
    guard let dropped else { return true }
    conclude(.dropped, dropped.completion, at: self)
    return !dropped.isNew
  }

  /// Whether this lane, which is bounded, has no item that waits. Guarded by: mutex.
  var isBoundedDry: Bool { unsafe bounded?.isEmpty ?? true }
}
