// Under a lock that holds, a lane pauses with what it has: nobody waits for that any more, and barriers pass.

extension SerialLane {
  typealias Waiting = (calls: [Flight], barriers: [Flight])

  func letGo(_ waiting: Waiting) {
    for flight in waiting.calls { tellHeld(flight, at: self) }
    for flight in waiting.barriers { flight.arrive(self, nil) }
  }

  /// The claim did not allow a call.
  ///
  /// - Parameter isTaken: whether the payload was taken out of `batch`; otherwise it was to be called on the spot, and nothing was in line.
  func refused(_ payload: Loan, _ flight: Flight?, isTaken: Bool) -> Refusal {
    lock.lock()
    let refusal = unsafe self.refusal(isEnding: isEnding)
    guard case .pause = refusal else {
      lock.unlock()
      return refusal
    }
    if isBounded {
      if isTaken { unsafe bounded?.putBack(takenFrom: &batch, flight) } else { _ = unsafe bounded?.append(payload, flight) }
    } else if isTaken {
      unsafe batch.untake(.call(flight))
    } else {
      unsafe batch.append(.call(flight), payload)
    }
    phase = .paused
    let waiting = withoutWaiting()
    lock.unlock()
    letGo(waiting)
    return .pause
  }

  /// Under the lock: from now on nobody waits for what is here. O(n)
  func withoutWaiting() -> Waiting {
    var waiting: Waiting = unsafe bounded?.withoutWaiting() ?? ([], [])
    func pass(_ item: LaneItem) -> LaneItem {
      switch item {
      case .call(let flight?) where flight.isToBeTold:
        waiting.calls.append(flight)
        return .call(flight.withoutWaiting)
      case .barrier(let flight):
        waiting.barriers.append(flight)
        return .done
      default: return item
      }
    }
    for i in unsafe 0..<batch.count { unsafe batch[i] = pass(batch[i]) }
    for i in unsafe 0..<items.count { unsafe items[i] = pass(items[i]) }
    return waiting
  }

  /// Nobody waits for what comes while it is paused.
  @inline(never) func pushPaused(_ payload: Loan, _ flight: Flight?) -> Bool {
    lock.lock()
    guard phase == .paused else {
      lock.unlock()
      return push(payload, flight)
    }
    unsafe items.append(.call(flight), payload)
    let waiting: Waiting = flight?.isAwaited == true ? withoutWaiting() : ([], [])
    lock.unlock()
    letGo(waiting)
    return true
  }

  /// From inside the event, of a lane that was paused and ends: what waits never begins.
  func skipAll() {
    func skip(_ item: LaneItem) { if case .call(let flight) = item { countSkipped(flight) } }
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
