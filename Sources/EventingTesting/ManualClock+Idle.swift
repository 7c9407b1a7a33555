public import Eventing

extension ManualClock {
  // MARK: Idle clocks

  /// Moves the clock step by step, from one sleeper to the next. Before each step, and at the end,
  /// waits until only work that sleeps on this clock is left.
  ///
  ///     cart.post(.abandoned, after: .seconds(3_600), clock: clock)
  ///     await clock.advanceWhenIdle(by: .seconds(3_600))    // the post is made
  ///     await clock.waitUntilIdle()                         // and its handlers have run
  ///
  /// The clock *meets* the events that use it, and is idle when these events have no work. An event
  /// has work while an occurrence is queued or a handler call runs. Two kinds of work do not count:
  ///
  /// - Calls that sleep on this clock, in any of their tasks, and calls that wait on it for their
  ///   next attempt.
  /// - Work that waits for such a call: occurrences queued behind it in order, and calls that await
  ///   a `send` to its handler, directly or through other events.
  ///
  /// The clock meets an event when the event is given the clock, with `post(_:after:clock:)` or
  /// with an option of a handler. ``meet(_:)`` adds other events, such as one whose handler sleeps
  /// by itself, or one that feeds another event. A call that waits for anything else, such as a
  /// gate of the test or another clock, counts as running: then use ``advance(by:)``. Loops over
  /// sequences and tasks of the test do not count: see ``waitForSleepers(_:)``.
  ///
  /// With real threads, work may reach an event at any time. So the clock waits only until all work
  /// that it knows of is done. In a ``Simulation`` the clock waits until nothing else can run, in
  /// any event.
  ///
  /// **Inside a handler,** the clock does not wait for that call, nor for work that waits for that
  /// call. If the task is cancelled, this method returns at once, and does not move the clock any
  /// further.
  ///
  /// - Parameter duration: The duration to move by. A duration below zero counts as zero.
  /// - Complexity: O(handlers of the events that the clock has met), for each time at which the
  ///   clock stops.
  public func advanceWhenIdle(by duration: Duration) async {
    guard await isIdle() else { return }
    let end = now.advanced(by: max(.zero, duration))
    while !advanceOnce(towards: end) { guard await isIdle() else { return } }
  }

  /// Waits until only work that sleeps on this clock is left: see ``advanceWhenIdle(by:)``.
  public func waitUntilIdle() async { _ = await isIdle() }

  /// Adds events for which ``advanceWhenIdle(by:)`` waits.
  ///
  /// Events that use the clock need not be passed. The clock retains no event. For a view or a key,
  /// this method adds the event behind it.
  public func meet<each Source: EventSource>(_ source: repeat each Source) {
    repeat meet(eventOf: each source)
  }

  private func meet<Source: EventSource>(eventOf source: Source) {
    let token = source.add(Handler<Source.Payload> { _ in })
    source.remove(token)
    meet(token.event)
  }

  // MARK: Polling the events

  private func isIdle() async -> Bool {
    if let simulator = Simulator.current {
      await simulator.idle()
      return !Task.isCancelled
    }
    var (last, patience): (Look?, Patience) = (nil, Patience())
    while !Task.isCancelled {
      // A call of `look(_:)` takes one event after the other, and waits until this event has no
      // work. Meanwhile, an event that had no work may get new work from another event. So
      // `look(_:)` is called until two successive calls return equal results. A result has the
      // clock's `version` and, for each event, the number of the last occurrence before the probe
      // that the call made of the event. If two successive results are equal, no event delivered an
      // occurrence between its probes in the two calls, and nothing that slept on the clock woke.
      // So no event had work when the first of the two calls returned.
      let look = await look(&patience)
      if let look, look == last, look.version == mutex.withLock({ unsafe activity.version }) { return true }
      last = look
    }
    return false
  }

  /// The events that the clock has met, read one after the other by ``look(_:)``.
  private struct Look: Equatable {
    let version: Int
    /// The last occurrence that each event had delivered when it came to its probe.
    var occurrences: [EventReference: UInt64] = [:]
  }

  /// Makes a probe of each event that the clock has met, and waits until they have done the work
  /// before. Calls that sleep on this clock, and work that waits for them, need not end. `nil` if a
  /// timer of the clock is at work, or the task was cancelled.
  private func look(_ patience: inout Patience) async -> Look? {
    let (version, events, timers) = mutex.withLock { unsafe (activity.version, activity.events, activity.timersAtWork) }
    guard timers == 0 else {
      await patience.pause("a timer is at work")
      return nil
    }
    let dead = events.filter { !$0.isAlive }
    if !dead.isEmpty { mutex.withLock { unsafe activity.events.subtract(dead) } }
    let probes = events.compactMap { event in event.probe().map { (event, $0) } }
    var look = Look(version: version)
    for (event, probe) in probes {
      while !probe.isOver(except: sleepingWork) {
        if Task.isCancelled { return nil }
        await patience.pause("\(probe.remaining) runs, or waits for something other than this clock")
      }
      look.occurrences[event] = probe.sequence
    }
    return look
  }
}

extension ManualClock: IdleAwareClock {
  package func meet(_ event: EventReference) {
    mutex.withLock { if unsafe activity.events.insert(event).inserted { unsafe activity.version += 1 } }
  }

  package func timerBegan() {
    mutex.withLock {
      unsafe activity.timersAtWork += 1
      unsafe activity.version += 1
    }
  }

  package func timerEnded() {
    mutex.withLock {
      unsafe activity.timersAtWork -= 1
      unsafe activity.version += 1
    }
  }

  package func sleepBegan(_ work: SleepingWork) {
    mutex.withLock {
      unsafe activity.waiting.append(work)
      unsafe activity.version += 1
    }
  }

  package func sleepEnded(_ work: SleepingWork) {
    let ended = mutex.withLock { () -> SleepingWork? in
      guard let index = unsafe activity.waiting.firstIndex(where: { $0.id == work.id }) else { return nil }
      unsafe activity.version += 1
      return unsafe activity.waiting.remove(at: index)
    }
    withExtendedLifetime(ended) {}  // released after the unlock
  }

  /// Known because they use the clock, or were passed to ``meet(_:)``.
  struct Activity {
    var events: Set<EventReference> = []
    /// Waits without a sleeping task, such as a handler for its next attempt: a timer of the
    /// library continues it.
    var waiting: [SleepingWork] = []
    /// Timer tasks that do not sleep, and threads that add delayed work.
    var timersAtWork = 0
    /// Grows when an event is added, `waiting` or `timersAtWork` changes, or a handler call falls
    /// asleep or wakes.
    var version = 0

    mutating func noteBeginning(of sleeper: Sleeper) {
      if sleeper.isTimer { timersAtWork -= 1 }
      if sleeper.isTimer || sleeper.work != nil { version += 1 }
    }

    mutating func noteEnd(of sleeper: Sleeper) {
      if sleeper.isTimer { timersAtWork += 1 }
      if sleeper.isTimer || sleeper.work != nil { version += 1 }
    }
  }
}

/// Short pauses first. The task must poll, because nothing tells it when a running call begins to
/// wait for a sleeping one.
private struct Patience {
  private var pauses = 0
  private let start = ContinuousClock.now
  private var hasTold = false

  /// - Parameter reason: For a warning after ten seconds.
  mutating func pause(_ reason: @autoclosure () -> String) async {
    pauses += 1
    if pauses < 16 { return await Task.yield() }
    try? await Task.sleep(for: .microseconds(200))
    if !hasTold, start.duration(to: .now) > .seconds(10) {
      hasTold = true
      Warning.tell("a ManualClock has waited ten seconds until nothing runs: \(reason())")
    }
  }
}
