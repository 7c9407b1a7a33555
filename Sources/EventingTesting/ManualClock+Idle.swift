public import Eventing

extension ManualClock {
  // MARK: When nothing runs

  /// Moves the clock as soon as nothing runs any more but what sleeps on it, from one sleeper to
  /// the next, and each time waits until nothing runs again.
  ///
  ///     cart.post(.abandoned, after: .seconds(3_600), clock: clock)
  ///     await clock.advanceWhenIdle(by: .seconds(3_600))    // the post is made
  ///     await clock.waitUntilIdle()                         // and its handlers have run
  ///
  /// The clock is idle if, of the events that it has met, no occurrence is queued and no handler
  /// call runs, except
  ///
  /// - calls that sleep on this clock, in whichever of their tasks, or that are between two
  ///   attempts on it;
  /// - work that waits for such a call: what is queued behind it in order, and calls that await a
  ///   `send` to its handler, over any number of events.
  ///
  /// The clock meets an event when the event is given the clock, with a later post or a modifier of
  /// a handler. ``meet(_:)`` adds others, such as one whose handler sleeps by itself, or one that
  /// feeds another event. A call that waits for something else, such as a gate of the test or
  /// another clock, counts as running: then use ``advance(by:)``. Loops over sequences do not
  /// count, and neither do tasks of the test: see ``waitForSleepers(_:)``.
  ///
  /// With real threads, work may reach an event at any time. Then the clock waits until all that it
  /// knows of is done. In a ``Simulation`` it waits until nothing else can run, in any event.
  ///
  /// **Inside a handler,** the clock waits neither for that call nor for work that waits for it. If
  /// the task is cancelled, this returns at once, and does not move the clock any further.
  ///
  /// - Parameter duration: The duration to move by. A duration below zero counts as zero.
  /// - Complexity: O(handlers) of the events that it has met, for each time at which it stops.
  public func advanceWhenIdle(by duration: Duration) async {
    guard await isIdle() else { return }
    let end = now.advanced(by: max(.zero, duration))
    while !advanceOnce(towards: end) { guard await isIdle() else { return } }
  }

  /// Waits until nothing runs but what sleeps on this clock: see ``advanceWhenIdle(by:)``.
  public func waitUntilIdle() async { _ = await isIdle() }

  /// Notes events for which ``advanceWhenIdle(by:)`` waits.
  ///
  /// An event that uses the clock need not be named. The clock keeps no event alive. Of a view or a
  /// key, the event behind it is met.
  public func meet<each Source: EventSource>(_ source: repeat each Source) {
    repeat meet(eventOf: each source)
  }

  private func meet<Source: EventSource>(eventOf source: Source) {
    let token = source.attach(Handler<Source.Payload> { _ in })
    source.remove(token)
    meet(token.event)
  }

  // MARK: Looking

  /// Waits until the clock is idle. Returns false if the task was cancelled before.
  private func isIdle() async -> Bool {
    if let simulator = Simulator.current {
      await simulator.idle()
      return !Task.isCancelled
    }
    var (last, patience): (Look?, Patience) = (nil, Patience())
    while !Task.isCancelled {
      // Nothing has happened between two equal looks. So the work that the first one waited for was
      // the last.
      let look = await look(&patience)
      if let look, look == last, look.version == mutex.withLock({ unsafe activity.version }) { return true }
      last = look
    }
    return false
  }

  /// A look at all events, one after the other.
  private struct Look: Equatable {
    let version: Int
    /// The events, and the number of the last occurrence of each.
    var occurrences: [EventReference: UInt64] = [:]
  }

  /// Waits until each event has done the work that it had. Returns `nil` if a timer is at work.
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
    withExtendedLifetime(ended) {}  // released after the mutex
  }

  /// The events and timers that a clock knows of.
  struct Activity {
    var events: Set<EventReference> = []
    /// The work that waits for a time without a task.
    var waiting: [SleepingWork] = []
    /// The number of the library's timers that do not sleep.
    var timersAtWork = 0
    /// The number of times at which a handler call or a timer began, fell asleep, woke or ended,
    /// or an event was met.
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

/// The pauses of a task that looks again and again: short ones first. Nothing tells the task that a
/// call began to wait for one that sleeps.
private struct Patience {
  private var pauses = 0
  private let start = ContinuousClock.now
  private var hasTold = false

  /// - Parameter reason: The reason for the pause, for a warning after ten seconds.
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
