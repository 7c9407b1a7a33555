import Synchronization

// If a lock holds occurrences for the handler, the lane pauses, and its items stay on it. No send
// waits for these items, and barriers complete at once.

extension SerialLane {
  /// Ends all waits for a lane that a lock has paused: reports the calls as held by the lock, and
  /// completes the barriers. The caller does not hold the mutex.
  func release(_ waiters: DetachedWaiters) {
    for completion in waiters.calls { reportHeld(completion, at: self) }
    for completion in waiters.barriers { completion.arrive(self, nil) }
  }

  /// Returns what happens to a call whose claim was refused. If the lane pauses, puts the call
  /// back.
  ///
  /// - Parameter isTaken: Whether the payload was taken out of `batch`. Otherwise the call was to
  ///   be made at once, and no item waited.
  func refused(_ payload: BorrowedPayload, _ completion: Completion?, isTaken: Bool) -> ClaimRefusal {
    mutex.lock()
    let refusal = unsafe self.refusal(isEnding: isEnding)
    guard case .pause = refusal else {
      mutex.unlock()
      return refusal
    }
    if isBounded {
      if isTaken {
        unsafe bounded?.putBack(takenFrom: &batch, completion)
      } else {
        _ = unsafe bounded?.append(payload, completion)
      }
    } else if isTaken {
      unsafe batch.untake(.call(completion))
    } else {
      unsafe batch.append(.call(completion), payload)
    }
    phase = .paused
    // No send and no barrier may wait for the items of a paused lane. So the waiters are removed.
    // If the call was to be made at once (`isTaken` is false), the lane has no item but this call.
    // The call has no waiters: its sender gets the outcome `held` from `callHere`.
    let waiters = isTaken ? detachWaiters() : DetachedWaiters()
    mutex.unlock()
    release(waiters)
    return .pause
  }

  /// Removes the waiters of all items. The caller holds `mutex`. Complexity: O(*n*).
  func detachWaiters() -> DetachedWaiters {
    var waiters = unsafe bounded?.detachWaiters() ?? DetachedWaiters()
    for i in unsafe 0..<batch.count { unsafe batch[i] = waiters.detach(batch[i]) }
    for i in unsafe 0..<items.count { unsafe items[i] = waiters.detach(items[i]) }
    return waiters
  }

  /// Enqueues a call on a paused lane, and reports it as held, so that no sender waits for it. If
  /// the lane has resumed meanwhile, enqueues the call as ``push(_:_:)`` does.
  @inline(never) func pushPaused(_ payload: BorrowedPayload, _ completion: Completion?) -> Bool {
    mutex.lock()
    guard phase == .paused else {
      mutex.unlock()
      return push(payload, completion)
    }
    unsafe items.append(.call(completion), payload)
    let waiters = completion?.isToBeTold == true ? detachWaiters() : DetachedWaiters()
    mutex.unlock()
    release(waiters)
    return true
  }

  /// Takes all items out of a paused lane that ends now. The caller holds `mutex`.
  func takeAll() -> LaneItems {
    var taken = LaneItems(type)
    unsafe swap(&batch, &taken.batch)
    unsafe swap(&items, &taken.items)
    unsafe takenCount &+= taken.items.count
    if isBounded {
      taken.bounded = LaneQueue(record.place.buffering, type)
      unsafe swap(&bounded, &taken.bounded)
    }
    return taken
  }

  /// Skips items that were taken out: their calls never begin. The caller does not hold the mutex.
  /// Isolation: core.
  func skip(_ taken: consuming LaneItems) {
    func skipItem(_ item: LaneItem) { if case .call(let completion) = item { self.skip(completion, at: self) } }
    while !taken.batch.isEmpty {
      let item = taken.batch.takeFirst()
      if item.hasPayload { taken.batch.destroyTaken() }
      skipItem(item)
    }
    while !taken.items.isEmpty {
      let item = taken.items.takeFirst()
      if item.hasPayload { taken.items.destroyTaken() }
      skipItem(item)
    }
    while let popped = taken.bounded?.popFirst() { skipItem(popped.item) }
  }
}

// If the handler has ended, the calls that wait on its lane will never begin. They are skipped at
// once, so that neither a send nor a payload waits for a call that hangs.

extension SerialLane {
  /// Skips all calls that wait: see ``DeliveryTarget/abandon()``.
  func skipWaiting() {
    var taken = LaneItems(type)
    mutex.lock()
    guard phase == .running else { return mutex.unlock() }  // finish() skips what a paused lane has
    unsafe swap(&items, &taken.items)
    unsafe takenCount &+= taken.items.count
    taken.bounded = unsafe bounded?.takeCalls()
    if unsafe isParked || !isBounded && mayTakeBatch() { taken.batch = unsafe batch.moveAll() }
    for i in 0..<taken.batch.count { keepFollower(taken.batch[i]) }
    for i in 0..<taken.items.count { keepFollower(taken.items[i]) }
    mutex.unlock()
    skip(taken)
  }

  /// Puts a barrier, or the end of the lane, back. The caller holds `mutex`.
  private func keepFollower(_ item: LaneItem) {
    switch item {
    case .barrier, .end: appendFollower(item)
    case .call, .done: break
    }
  }

  /// Returns whether the caller may take items out of `batch`, although a drain runs: a call of the
  /// handler runs, so the drain does not touch `batch` until that call has ended. The caller holds
  /// `mutex`.
  ///
  /// The flag in ``DeliveryTarget/ended`` makes the drain wait for the mutex when it counts the end
  /// of that call. If no call runs, the drain is about to claim one, is refused because the handler
  /// has ended, and so skips what waits by itself.
  private func mayTakeBatch() -> Bool {
    let before = ended.bitwiseOr(.min, ordering: .acquiringAndReleasing).oldValue & .max
    if calls.load(ordering: .acquiring) > before { return true }
    ended.bitwiseAnd(.max, ordering: .acquiringAndReleasing)
    return false
  }

  /// Waits until the thread that takes items out of `batch` has done so, and clears the flag.
  func awaitEndOfTaking() {
    mutex.withLock { _ = ended.bitwiseAnd(.max, ordering: .acquiringAndReleasing) }
  }
}

/// All items of a serial lane, taken out of it.
///
/// Destroying the value destroys the payloads, and must not happen under a mutex.
struct LaneItems: ~Copyable {
  var batch: PayloadQueue<LaneItem>
  var items: PayloadQueue<LaneItem>
  var bounded: LaneQueue?

  init(_ type: PayloadType) {
    batch = PayloadQueue(type)
    items = PayloadQueue(type)
  }
}
