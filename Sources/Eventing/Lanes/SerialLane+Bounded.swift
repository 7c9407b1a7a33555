// With a bound what is dropped may be anywhere in line, so the drain takes one item at a time, under the lock.

extension SerialLane {
  func pushBounded(_ payload: Loan, _ flight: Flight?) -> Bool {
    lock.lock()
    let (isPaused, start) = (phase == .paused, phase == .idle)
    let dropped = unsafe bounded?.append(payload, flight)
    let waiting: Waiting = isPaused && flight?.isAwaited == true ? withoutWaiting() : ([], [])
    if !isPaused { phase = .running }
    lock.unlock()
    letGo(waiting)
    if start { schedule() }
    guard let dropped else { return true }
    conclude(.dropped, dropped.flight, at: self)
    return !dropped.isNew
  }

  /// Under the lock.
  var isBoundedDry: Bool { unsafe bounded?.isEmpty ?? true }
}
