import Synchronization

// A serial lane on a shared `Lane` keeps its items. It has no drain of its own: for each item it
// adds a call to the queue of the `Lane`, whose drain then makes the call. One entry of that queue,
// a `SharedTurns`, stands for successive calls of one serial lane. In the names of functions here,
// such as `takeTurn`, "turn" means one of these calls. Elsewhere, a turn is all calls of one entry
// (`LaneTurn`).

extension SerialLane {
  /// Adds the call for a new item to the queue of the shared lane. The caller holds no mutex.
  /// Isolation: core.
  ///
  /// The item is already on this lane, so the drain finds the item when it comes to the call.
  @inline(__always) func takeTurn(of shared: UnitScheduler) {
    if !addTurn() { shared.enqueue(unsafe SharedTurns(lane: self, count: 1, era: era)) }
  }

  /// Adds a call to the last entry in the queue of the shared lane. Returns false if that entry is
  /// not of this lane, or no call may be added to it any more. Isolation: core.
  private func addTurn() -> Bool {
    var count = openCount.load(ordering: .relaxed)
    while count > 0 {
      let (isDone, now) = openCount.compareExchange(
        expected: count, desired: count + 1, ordering: .acquiringAndReleasing)
      if isDone { return true }
      count = now
    }
    return false
  }

  /// Lets this lane add further calls to `turns`. The caller appends this entry to the queue of the
  /// shared lane. Only the last entry may get further calls, because a new call comes after all
  /// calls in the queue. The caller holds the mutex of the shared lane. Isolation: core.
  func openTurns(_ turns: SharedTurns) { _ = openCount.exchange(turns.count, ordering: .acquiringAndReleasing) }

  /// Keeps this lane from adding calls to its last entry in the queue of the shared lane. Returns
  /// the number of calls for which that entry stands. Returns 0 if this lane has resumed after a
  /// lock since it added the entry. In that case a newer entry stands for all items of this lane,
  /// and the drain of the shared lane must make no call for the old one. The caller holds the mutex
  /// of the shared lane.
  func closeTurns() -> Int { openCount.exchange(0, ordering: .acquiringAndReleasing) }

  /// Resumes a lane that a lock had paused. The lane's items come before all other items that wait
  /// on the shared lane. Isolation: core.
  func resumeTurns(of shared: UnitScheduler) {
    let turns = mutex.withLock { () -> SharedTurns? in
      guard phase == .paused else { return nil }
      // The new entry, below, has one call for each item. The new `era` lets the drain skip the
      // calls of older entries.
      unsafe era += 1
      _ = openCount.exchange(0, ordering: .acquiringAndReleasing)
      let count = unsafe batch.count + items.count
      phase = count > 0 ? .running : .idle
      unsafe isParked = true
      return unsafe SharedTurns(lane: self, count: count, era: era)
    }
    guard let turns, turns.count > 0 else { return }
    shared.mutex.withLock { shared.appendUrgent(turns) }
    shared.startUnits()
  }

  /// Runs the calls of this lane for which one entry (`turns`) of the shared lane's queue stands.
  /// Called by the drain of the shared lane.
  ///
  /// - Returns: The number of calls that the drain must still run. It is above 0 only if the quota
  ///   is used up, or if a call has started a task that goes on after the call. Such a task still
  ///   holds the invocation, so the next call needs a new one.
  func drain(
    _ turns: SharedTurns, _ invocation: Unmanaged<Invocation>, _ references: UInt, _ quota: inout DrainQuota
  ) async -> Int {
    var left = turns.count
    guard fillBatch(in: turns.era) else { return 0 }
    let body = unsafe body
    while left > 0 {
      if quota.isOver {
        parkRest()
        return left
      }
      if unsafe batch.isEmpty, !fillBatch(in: turns.era) { return 0 }
      left -= 1
      guard case .call(let completion) = takeItem() else { continue }
      quota.left &-= 1
      let payload = unsafe batch.taken
      let outcome: HandlerOutcome
      let isBound = if let completion { completion.isBound } else { false }
      if !isBound, isPlain, let body, case .directAsync(let direct) = body.body {
        outcome = await callDirect(payload, direct, on: nil)
      } else {
        outcome = await callNow(payload, body, completion, on: nil)
      }
      let isShared = unsafe Invocation.endIfShared(invocation, since: references)
      if case .skipped = outcome {
        switch refused(payload, completion, isTaken: true) {
        case .skip: break
        case .retry:
          unsafe batch.untake(.call(completion))
          left += 1
          continue
        case .pause: return 0
        }
      }
      unsafe batch.destroyTaken()
      conclude(outcome, completion, at: self)
      if isShared { break }
    }
    if left == 0, unsafe batch.isEmpty {
      unsafe batch.recycle()
      restIfEmpty()
    } else {
      parkRest()
    }
    return left
  }

  /// Leaves the rest of `batch` to the drain that comes to the next calls of this lane.
  private func parkRest() { if unsafe !batch.isEmpty { park() } }

  /// Takes the next item out of `batch`. If it is a barrier, completes it; if it is the end, closes
  /// the lane.
  private func takeItem() -> LaneItem {
    let item = unsafe batch.takeFirst()
    switch item {
    case .call, .done: break
    case .barrier(let completion): completion.arrive(self, nil)
    case .end:
      closeLate()
      shared?.remove(self)
    }
    return item
  }

  /// Moves the items that wait into `batch`, if `batch` is empty. The drain calls this method for
  /// the entry of the shared lane's queue whose calls it makes now. Returns false if the entry has
  /// no call to make now: no item is left, or a lock has paused this lane since the entry was
  /// added.
  ///
  /// - Parameter era: The value that ``era`` had when this lane added the entry: the number of
  ///   times that the lane had resumed after a lock.
  private func fillBatch(in era: Int) -> Bool {
    mutex.lock()
    defer { mutex.unlock() }
    guard unsafe self.era == era, phase == .running else { return false }
    unsafe isParked = false
    guard unsafe batch.isEmpty else { return true }
    unsafe batch.recycle()
    unsafe swap(&items, &batch)
    unsafe takenCount &+= batch.count
    if unsafe !batch.isEmpty { return true }
    phase = .idle
    return false
  }

  /// Sets the phase to `idle`, if no item waits.
  private func restIfEmpty() {
    mutex.lock()
    if unsafe items.isEmpty, phase == .running { phase = .idle }
    mutex.unlock()
  }
}
