// Under a holding lock, a lane pauses with the items that it holds. No send waits for these items,
// and barriers complete at once.

extension SerialLane {
  /// Completes the waiters of a lane that is paused. Not under the mutex.
  func release(_ waiters: DetachedWaiters) {
    for completion in waiters.calls { reportHeld(completion, at: self) }
    for completion in waiters.barriers { completion.arrive(self, nil) }
  }

  /// Decides what becomes of a call whose claim was refused. If the lane pauses, puts the call
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
    // A call that was to be made at once is the only item, and its caller reports it as held.
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

  /// Enqueues a call on a paused lane: nothing waits for it.
  @inline(never) func pushPaused(_ payload: BorrowedPayload, _ completion: Completion?) -> Bool {
    mutex.lock()
    guard phase == .paused else {
      mutex.unlock()
      return push(payload, completion)
    }
    unsafe items.append(.call(completion), payload)
    let waiters = completion?.isAwaited == true ? detachWaiters() : DetachedWaiters()
    mutex.unlock()
    release(waiters)
    return true
  }

  /// Skips the items of a lane that was paused and ends: their calls never begin. Isolation: core.
  func skipAll() {
    func skip(_ item: LaneItem) { if case .call(let completion) = item { countSkipped(completion) } }
    while unsafe !batch.isEmpty {
      let item = unsafe batch.takeFirst()
      if item.hasPayload { unsafe batch.destroyTaken() }
      skip(item)
    }
    while unsafe !items.isEmpty {
      let item = unsafe items.takeFirst()
      if item.hasPayload { unsafe items.destroyTaken() }
      skip(item)
    }
    while let popped = unsafe bounded?.popFirst() { skip(popped.item) }
  }
}
