// Under a lock that holds, a lane pauses with what it has: nobody waits for that any more, and barriers pass.

extension SerialLane {
  typealias Waiting = (calls: [Completion], barriers: [Completion])

  func letGo(_ waiting: Waiting) {
    for completion in waiting.calls { tellHeld(completion, at: self) }
    for completion in waiting.barriers { completion.arrive(self, nil) }
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
    let waiting = withoutWaiting()
    mutex.unlock()
    letGo(waiting)
    return .pause
  }

  /// Under the lock: from now on nobody waits for what is here. O(n)
  func withoutWaiting() -> Waiting {
    var waiting: Waiting = unsafe bounded?.withoutWaiting() ?? ([], [])
    func pass(_ item: LaneItem) -> LaneItem {
      switch item {
      case .call(let completion?) where completion.isToBeTold:
        waiting.calls.append(completion)
        return .call(completion.withoutWaiting)
      case .barrier(let completion):
        waiting.barriers.append(completion)
        return .done
      default: return item
      }
    }
    for i in unsafe 0..<batch.count { unsafe batch[i] = pass(batch[i]) }
    for i in unsafe 0..<items.count { unsafe items[i] = pass(items[i]) }
    return waiting
  }

  /// Nobody waits for what comes while it is paused.
  @inline(never) func pushPaused(_ payload: BorrowedPayload, _ completion: Completion?) -> Bool {
    mutex.lock()
    guard phase == .paused else {
      mutex.unlock()
      return push(payload, completion)
    }
    unsafe items.append(.call(completion), payload)
    let waiting: Waiting = completion?.isAwaited == true ? withoutWaiting() : ([], [])
    mutex.unlock()
    letGo(waiting)
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
