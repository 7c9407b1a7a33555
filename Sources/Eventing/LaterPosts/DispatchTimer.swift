import Dispatch

/// Not a sleeping task: a cancelled `Task.sleep` stays in the runtime until its deadline, and
/// waking needs a free thread of Swift's pool, where handlers may block.
///
/// Dispatch counts only the time in which the system is awake, so a continuous clock has a second
/// timer.
final class DispatchTimer<C: Clock>: DelayTimer where C.Duration == Duration {
  private struct Sources {
    let awake: any DispatchSourceTimer
    let wall: (any DispatchSourceTimer)?
  }

  private let clock: C
  private let origin: C.Instant
  private let isContinuous: Bool
  private let sources = Guarded<Sources?>(nil)

  init(_ clock: C, isContinuous: Bool) {
    self.clock = clock
    self.isContinuous = isContinuous
    origin = clock.now
  }

  var idleAwareClock: (any IdleAwareClock)? { nil }
  var now: Duration { origin.duration(to: clock.now) }
  /// The next work is usually due later than cancelled work, and then need not set the timer.
  var stopsWhenUnused: Bool { false }

  func measures(_ clock: any Clock<Duration>) -> Bool { clock is C }

  func set(_ deadline: Duration, _ queue: DelayQueue) {
    let sources = makeSources(queue)
    // Set for at most a day. For a later deadline, the queue sets the timer again when it has rung.
    let delay = min(max(deadline - now, .zero), .seconds(86_400))
    let (seconds, attoseconds) = delay.components
    // Rounded up, so that the timer does not ring too early. In 64 bits: `Int` may have 32.
    let nanoseconds = UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds / 1_000_000_000) + 1
    let ring = DispatchTime(uptimeNanoseconds: DispatchTime.now().uptimeNanoseconds + nanoseconds)
    sources.awake.schedule(deadline: ring, leeway: .nanoseconds(0))
    guard delay > .seconds(1), let wall = sources.wall else { return }
    wall.schedule(wallDeadline: .now() + .milliseconds(Int(nanoseconds / 1_000_000) + 1), leeway: .milliseconds(1))
  }

  func stop() {}

  private func makeSources(_ queue: DelayQueue) -> Sources {
    if let sources = sources.withLock({ $0 }) { return sources }
    let own = DispatchQueue(label: "eventing.timer", qos: .userInitiated)
    func make() -> any DispatchSourceTimer {
      let source = DispatchSource.makeTimerSource(queue: own)
      source.setEventHandler { [weak queue] in
        guard let queue, queue.beginFiring() else { return }
        while queue.fireSome() > 0 {}
      }
      source.activate()
      return source
    }
    let made = Sources(awake: make(), wall: isContinuous ? make() : nil)
    sources.withLock { $0 = made }
    return made
  }
}
