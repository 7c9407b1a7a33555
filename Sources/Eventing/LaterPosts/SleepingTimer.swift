/// Runs the clock's code, which is the user's, under no mutex. If a sleep fails, the work is done
/// at once: a handler that is called too early is better than one that is never called.
final class SleepingTimer<C: Clock>: DelayTimer where C.Duration == Duration {
  private let clock: C
  private let origin: C.Instant
  let idleAwareClock: (any IdleAwareClock)?
  /// The tasks run in the clock's simulation, even if a thread of another one, which may end before
  /// the timer rings, sets the timer.
  private let simulation: (any SimulatedScheduling)?
  private let sleeper = Guarded<(any AnyObject & Sendable)?>(nil)

  init(_ clock: C, in simulation: (any SimulatedScheduling)?) {
    self.clock = clock
    idleAwareClock = clock as? any IdleAwareClock
    self.simulation = simulation
    origin = clock.now
  }

  var now: Duration { origin.duration(to: clock.now) }
  var stopsWhenUnused: Bool { true }

  func measures(_ clock: any Clock<Duration>) -> Bool {
    guard let clock = clock as? C else { return false }
    return ClockIdentity.isSame(clock, self.clock)
  }

  func set(_ deadline: Duration, _ queue: DelayQueue) {
    let aware = idleAwareClock
    aware?.timerBegan()
    replaceSleeper(
      by: Scheduling.detachedTask(in: simulation) { [self, weak queue] in
        defer { aware?.timerEnded() }
        let isReached = await Scheduling.$isTimer.withValue(aware != nil) { await sleep(until: deadline) }
        if Task.isCancelled { return }
        guard queue?.beginFiring() == true else { return }
        while let count = queue?.fireSome(notAfter: isReached ? nil : deadline), count > 0 {
          if count == DelayQueue.batch { await Task.yield() }
        }
      })
  }

  func stop() { replaceSleeper(by: nil) }

  private func replaceSleeper(by new: (any AnyObject & Sendable)?) {
    var replaced = new
    sleeper.withLock { swap(&$0, &replaced) }
    withExtendedLifetime(replaced) {}  // the release cancels the old task; never under the mutex
  }

  private func sleep(until deadline: Duration) async -> Bool {
    do {
      try await clock.sleep(until: origin.advanced(by: deadline), tolerance: nil)
      while now < deadline, !Task.isCancelled {
        await Task.yield()  // the sleep of a user's clock may return without suspending the task
        try await clock.sleep(until: origin.advanced(by: deadline), tolerance: nil)
      }
      return true
    } catch {
      return false
    }
  }
}
