/// If the timer rings too early, the queue sets it again, so cancelling the first work need not
/// touch it. The queue retains the work until it is fired or cancelled.
final class DelayQueue: Sendable {
  /// A change of the timer: made by one thread at a time, under no mutex.
  private enum Alarm {
    case at(Duration)
    case off
  }

  private struct State {
    var heap = DelayHeap()
    var alarm: Duration?
    var isTimerUsed = false
    var isSetting = false
    var isFiring = false
    var ringCount: UInt64 = 0
    var ringCountAtSetting: UInt64 = 0

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

  var now: Duration { timer.now }

  /// Equal deadlines fire in the order of insertion. The delay is from zero to a hundred years.
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

  @inline(never) func noteCancelled(_ work: any DelayedWork) {
    let stops = timer.stopsWhenUnused
    set(
      state.withLock { state -> Alarm? in
        guard work.heapIndex >= 0 else { return nil }
        state.heap.remove(at: work.heapIndex)  // the caller retains the work
        return state.beginSetting(stops)
      })
  }

  /// Runs the user's code: `==` of the clock.
  func measures(_ clock: any Clock<Duration>) -> Bool { timer.measures(clock) }
  var idleAwareClock: (any IdleAwareClock)? { timer.idleAwareClock }

  // MARK: The timer

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

  /// If this returns false, another thread fires.
  func beginFiring() -> Bool {
    state.withLock { state in
      state.ringCount += 1
      state.alarm = nil
      defer { state.isFiring = true }
      return !state.isFiring
    }
  }

  /// One thread at a time fires, so the order is that of the deadlines.
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

  /// On the global queue, because the work may retain the user's objects.
  private func release(_ due: inout [any DelayedWork]) {
    // In a simulation everything runs on one thread.
    if due.isEmpty || Scheduling.isSimulated { return }
    due.removeAll { $0.releasesItself }
    if due.isEmpty { return }
    // If this thread is the last to release `fired`, the array is empty by then.
    let fired = Guarded<[any DelayedWork]>([])
    fired.withLock { swap(&$0, &due) }
    Scheduling.concurrentBlock {
      var taken: [any DelayedWork] = []
      fired.withLock { swap(&$0, &taken) }
    }
  }
}
