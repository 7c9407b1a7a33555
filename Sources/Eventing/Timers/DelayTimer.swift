import Dispatch

/// When the timer rings, on any thread, it calls ``TimerQueue/beginFiring()``. If that returns
/// true, it calls ``TimerQueue/fireSome(notAfter:)`` until the result is 0.
protocol DelayTimer: Sendable {
  var now: Duration { get }
  /// True for a sleeping task, which would otherwise sleep until the deadline.
  var stopsWhenUnused: Bool { get }
  func set(_ deadline: Duration, _ queue: TimerQueue)
  func stop()
  func measures(_ clock: any Clock<Duration>) -> Bool
  var idleAwareClock: (any IdleAwareClock)? { get }
}

/// Doesn't use a sleeping task, because a cancelled `Task.sleep` stays in the runtime until its
/// deadline, and waking up takes a free thread of Swift's pool, where handlers may block.
///
/// Dispatch counts only the time during which the system is awake, so a continuous clock needs a
/// second timer.
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
  /// The next work is usually due later than the cancelled work and therefore need not set the
  /// timer.
  var stopsWhenUnused: Bool { false }

  func measures(_ clock: any Clock<Duration>) -> Bool { clock is C }

  func set(_ deadline: Duration, _ queue: TimerQueue) {
    let sources = makeSources(queue)
    // Set for at most a day. For a later deadline, the queue sets the timer again after it has
    // rung.
    let delay = min(max(deadline - now, .zero), .seconds(86_400))
    let (seconds, attoseconds) = delay.components
    // Rounded up, so that the timer doesn't ring too early. Uses 64 bits, because `Int` may have
    // 32.
    let nanoseconds = UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds / 1_000_000_000) + 1
    let ring = DispatchTime(uptimeNanoseconds: DispatchTime.now().uptimeNanoseconds + nanoseconds)
    sources.awake.schedule(deadline: ring, leeway: .nanoseconds(0))
    guard delay > .seconds(1), let wall = sources.wall else { return }
    wall.schedule(wallDeadline: .now() + .milliseconds(Int(nanoseconds / 1_000_000) + 1), leeway: .milliseconds(1))
  }

  func stop() {}

  private func makeSources(_ queue: TimerQueue) -> Sources {
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

/// Runs the clock's code, which is user code, with no mutex held. If a sleep fails, the work is
/// done immediately, because a handler called too early is better than one never called.
final class SleepingTimer<C: Clock>: DelayTimer where C.Duration == Duration {
  private let clock: C
  private let origin: C.Instant
  let idleAwareClock: (any IdleAwareClock)?
  /// The tasks run in the clock's simulation even if the timer is set by a thread of another
  /// simulation, which may end before the timer rings.
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

  func set(_ deadline: Duration, _ queue: TimerQueue) {
    let aware = idleAwareClock
    aware?.timerBegan()
    replaceSleeper(
      by: Scheduling.detachedTask(in: simulation) { [self, weak queue] in
        defer { aware?.timerEnded() }
        let isReached = await Scheduling.$isTimer.withValue(aware != nil) { await sleep(until: deadline) }
        if Task.isCancelled { return }
        guard queue?.beginFiring() == true else { return }
        while let count = queue?.fireSome(notAfter: isReached ? nil : deadline), count > 0 {
          if count == TimerQueue.batch { await Task.yield() }
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

/// On the standard library's clocks, a wait is work in a ``TimerQueue``, because a cancelled
/// `Task.sleep` would stay in the runtime until its deadline.
package enum Sleeping {
  package static func sleep(for delay: Duration, on clock: any Clock<Duration>) async throws {
    try Task.checkCancellation()
    guard delay > .zero else { return }
    if let queue = TimerQueues.ofStandardLibrary(clock) {
      let sleeper = Sleeper()
      let timer = Delay(queue) { sleeper.wake(isPosting: false) }
      timer.start(after: delay)
      await withTaskCancellationHandler {
        await sleeper.sleep()
      } onCancel: {
        timer.cancel()
        sleeper.wake(isPosting: false)
      }
      return try Task.checkCancellation()
    }
    repeat { try await clock.sleep(for: min(delay, .forever)) } while delay.isForever
  }

  static func result(
    within limit: Duration, on clock: any Clock<Duration>, of wait: @escaping @Sendable () async -> Bool
  ) async -> Bool {
    await withTaskGroup(of: Bool?.self) { group in
      group.addTask { await wait() }
      group.addTask {
        try? await sleep(for: limit, on: clock)
        return nil
      }
      while let result = await group.next() {
        group.cancelAll()
        if let result { return result }
      }
      preconditionFailure("two tasks are in the group, and one has a result")
    }
  }
}

@safe final class Sleeper: Sendable {
  private let state = unsafe Guarded((isAwake: false, continuation: UnsafeContinuation<Void, Never>?.none))

  func sleep() async {
    unsafe await withUnsafeContinuation { continuation in
      let isLate = unsafe state.withLock { state in
        if unsafe !state.isAwake { unsafe state.continuation = continuation }
        return unsafe state.isAwake
      }
      if isLate { unsafe continuation.resume() }
    }
  }

  /// - Parameter isPosting: Whether the thread may be running user code and holding one of the
  ///   user's locks: see `Scheduling.resume`.
  func wake(isPosting: Bool) {
    let waiting = unsafe state.withLock { state in
      defer { unsafe state = (true, nil) }
      return unsafe state.continuation
    }
    guard let waiting = unsafe waiting else { return }
    if isPosting { unsafe Scheduling.resume(waiting) } else { unsafe waiting.resume() }
  }
}
