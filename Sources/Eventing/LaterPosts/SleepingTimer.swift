/// The timer of a clock that is not of the standard library: a task that sleeps on the clock.
///
/// The clock's code is the user's. So it runs under no mutex, and a sleep may end early or fail. If
/// a sleep ends early, the task sleeps again. If a sleep fails, the work that waits for its
/// deadline is done at once: a handler that is never called would be worse than one that is called
/// too early.
///
/// While the task sleeps, it does not retain the queue of delayed work that set the timer.
final class SleepingTimer<C: Clock>: DelayTimer where C.Duration == Duration {
  private let clock: C
  private let origin: C.Instant
  let idleAwareClock: (any IdleAwareClock)?
  /// The simulation to which the clock belongs; `nil` outside of simulations. The timer's tasks run
  /// in this simulation, even if a thread of another simulation sets the timer: the other
  /// simulation may end before the timer rings.
  private let simulation: (any SimulatedScheduling)?
  /// An object that owns the task that sleeps. Releasing the object cancels the task.
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

  /// Sleeps until an instant, or until the task is cancelled. Returns false if a sleep of the clock
  /// fails.
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
