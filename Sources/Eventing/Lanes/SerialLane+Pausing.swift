// Under a lock that holds, a lane pauses with what it has: nobody waits for that any more, and barriers pass.

extension SerialLane {
  func release(_ waiters: DetachedWaiters) {
    for completion in waiters.calls { reportHeld(completion, at: self) }
    for completion in waiters.barriers { completion.arrive(self, nil) }
  }

  /// The claim did not allow a call.
  ///
  /// - Parameter isTaken: whether the payload was taken out of `batch`; otherwise it was to be called on the spot, and nothing was in line.
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
    let waiters = detachWaiters()
    mutex.unlock()
    release(waiters)
    return .pause
  }

  /// Takes the waiters of all items out. The caller holds `mutex`. O(n)
  func detachWaiters() -> DetachedWaiters {
    var waiters = unsafe bounded?.detachWaiters() ?? DetachedWaiters()
    for i in unsafe 0..<batch.count { unsafe batch[i] = waiters.detach(batch[i]) }
    for i in unsafe 0..<items.count { unsafe items[i] = waiters.detach(items[i]) }
    return waiters
  }

  /// Nobody waits for what comes while it is paused.
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

  /// From inside the event, of a lane that was paused and ends: what waits never begins.
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
