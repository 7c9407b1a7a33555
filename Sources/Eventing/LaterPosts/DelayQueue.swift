/// The delayed work of one clock, in the order of the deadlines, and one timer for the earliest
/// deadline.
///
/// If the timer rings too early, the queue sets it again. So the timer need not be set anew when
/// the work with the earliest deadline is cancelled. When the last work is cancelled, the timer is
/// stopped if it keeps a task asleep.
///
/// The queue retains the work from ``insert(_:after:)`` until it is fired or cancelled.
final class DelayQueue: Sendable {
  /// A change of the timer. One thread at a time makes such a change, and holds no mutex meanwhile.
  private enum Alarm {
    case at(Duration)
    case off
  }

  private struct State {
    var heap = DelayHeap()
    /// The instant at which the timer rings; `nil` if it is not certain that the timer will ring.
    var alarm: Duration?
    /// Whether the timer was set since it was last stopped. If so, a task of the timer may be
    /// asleep.
    var isTimerUsed = false
    /// Whether a thread sets the timer. Other threads leave the timer to that thread.
    var isSetting = false
    /// Whether a thread fires what is due. That thread sets the timer afterwards.
    var isFiring = false
    /// The number of times that the timer rang.
    var ringCount: UInt64 = 0
    /// The value of `ringCount` when the thread that sets the timer began to set it.
    var ringCountAtSetting: UInt64 = 0

    /// Returns how the calling thread must change the timer: set it, or stop it. `nil` if the timer
    /// needs no change, or another thread will change it.
    @inline(never) mutating func beginSetting(_ stopsWhenUnused: Bool) -> Alarm? {
      guard !isSetting, !isFiring else { return nil }
      let next: Alarm
      if let first = heap.firstDeadline {
        if let alarm, alarm <= first { return nil }
        next = .at(first)
      } else {
        if !isTimerUsed || !stopsWhenUnused { return nil }
        next = .off
      }
      isSetting = true
      ringCountAtSetting = ringCount
      return next
    }

    mutating func endSetting(_ alarm: Alarm) {
      isSetting = false
      switch alarm {
      case .at(let deadline):
        // The timer that was set may have rung meanwhile.
        self.alarm = ringCount == ringCountAtSetting ? deadline : nil
        isTimerUsed = true
      case .off:
        self.alarm = nil
        isTimerUsed = false
      }
    }
  }

  /// The largest number of ``DelayedWork`` objects that a thread takes out of the heap in one
  /// critical section.
  static var batch: Int { 64 }

  private let timer: any DelayTimer
  private let state = Guarded(State())
  private let onDeinit: @Sendable () -> Void

  init(_ timer: any DelayTimer, onDeinit: @escaping @Sendable () -> Void = {}) {
    self.timer = timer
    self.onDeinit = onDeinit
  }

  deinit {
    timer.stop()
    onDeinit()
  }

  /// The time of the clock, since the queue was made.
  var now: Duration { timer.now }

  /// Adds work that is due after a delay. Does nothing if another thread has cancelled the work
  /// before it is in the queue (``DelayedWork/isWaiting`` is false).
  ///
  /// If two objects are due at one instant, the one that was inserted first is fired first.
  ///
  /// - Parameter delay: The delay, from zero to a hundred years.
  /// - Complexity: O(log n).
  func insert(_ work: any DelayedWork, after delay: Duration) {
    // For a clock of a test, the insertion counts as work until this thread has set the timer, or
    // has left the timer to another thread.
    let idleAwareClock = timer.idleAwareClock
    idleAwareClock?.timerBegan()
    defer { idleAwareClock?.timerEnded() }
    let deadline = timer.now.adding(delay)
    let stops = timer.stopsWhenUnused
    set(
      state.withLock { state -> Alarm? in
        guard work.isWaiting, work.heapIndex < 0 else { return nil }
        state.heap.insert(work, deadline)
        return state.beginSetting(stops)
      })
  }

  /// Removes work that was cancelled. Does nothing if the queue does not have the work, because it
  /// is about to be inserted, or has been fired.
  ///
  /// - Complexity: O(log n).
  @inline(never) func noteCancelled(_ work: any DelayedWork) {
    let stops = timer.stopsWhenUnused
    set(
      state.withLock { state -> Alarm? in
        guard work.heapIndex >= 0 else { return nil }
        state.heap.remove(at: work.heapIndex)  // the caller retains the work
        return state.beginSetting(stops)
      })
  }

  /// Returns whether this is the queue of a given clock. Runs the user's code: `==` of the clock.
  func measures(_ clock: any Clock<Duration>) -> Bool { timer.measures(clock) }
  /// The clock, if it is one that a test moves when nothing runs; `nil` otherwise.
  var idleAwareClock: (any IdleAwareClock)? { timer.idleAwareClock }

  // MARK: The timer

  /// Sets or stops the timer, and does so again as long as the first deadline has changed
  /// meanwhile.
  @inline(never) private func set(_ alarm: Alarm?) {
    var next = alarm
    while let alarm = next {
      if case .at(let deadline) = alarm { timer.set(deadline, self) } else { timer.stop() }
      let stops = timer.stopsWhenUnused
      next = state.withLock { state -> Alarm? in
        state.endSetting(alarm)
        return state.beginSetting(stops)
      }
    }
  }

  /// Notes that the timer has rung. Returns whether the caller must call ``fireSome(notAfter:)``
  /// until that method returns 0. If not, another thread does so.
  func beginFiring() -> Bool {
    state.withLock { state in
      state.ringCount += 1
      state.alarm = nil
      defer { state.isFiring = true }
      return !state.isFiring
    }
  }

  /// Fires delayed work that is due: at most ``batch`` objects in one call. Returns the number of
  /// fired objects. If the number is 0 and work is left, sets the timer again.
  ///
  /// One thread at a time fires, so that the work is done in the order of the deadlines.
  ///
  /// - Parameter instant: Work with a deadline up to this instant counts as due, even if the clock
  ///   has not reached the deadline.
  func fireSome(notAfter instant: Duration? = nil) -> Int {
    let now = max(timer.now, instant ?? .zero)
    let stops = timer.stopsWhenUnused
    var due: [any DelayedWork] = []
    set(
      state.withLock { state -> Alarm? in
        while due.count < DelayQueue.batch, let work = state.heap.popFirst(notAfter: now) { due.append(work) }
        guard due.isEmpty else { return nil }
        state.isFiring = false
        return state.beginSetting(stops)
      })
    for work in due { work.fire() }
    let count = due.count
    release(&due)
    return count
  }

  /// Releases work that has been fired.
  ///
  /// `due` may hold the last references to the work by now, and the work may retain the user's
  /// objects. So this thread, the timer's, leaves the release to a block on Dispatch's global
  /// queue.
  private func release(_ due: inout [any DelayedWork]) {
    // In a simulation everything runs on one thread.
    if due.isEmpty || Scheduling.isSimulated { return }
    due.removeAll { $0.releasesItself }
    if due.isEmpty { return }
    // The block takes all work out of `fired`, and releases the work. Even if this thread is the
    // last one to release `fired`, the array is empty by then.
    let fired = Guarded<[any DelayedWork]>([])
    fired.withLock { swap(&$0, &due) }
    Scheduling.concurrentBlock {
      var taken: [any DelayedWork] = []
      fired.withLock { swap(&$0, &taken) }
    }
  }
}
