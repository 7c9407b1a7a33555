// Under a lock that holds, a lane pauses with what it has: nobody waits for that any more, and barriers pass.

extension SerialLane {
  fileprivate typealias Waiting = (calls: [Flight], barriers: [Flight])

  fileprivate func letGo(_ waiting: Waiting) {
    for flight in waiting.calls { tellHeld(flight, at: self) }
    for flight in waiting.barriers { flight.arrive(self, nil) }
  }

  /// The claim did not allow a call.
  @usableFromInline func refused(_ payload: Payload, _ flight: Flight?) -> Refusal {
    lock.lock()
    let refusal = unsafe self.refusal(isEnding: isEnding)
    guard case .pause = refusal else {
      lock.unlock()
      return refusal
    }
    if isBounded { unsafe bounded?.putBack(payload, flight) } else { putBack(payload, flight) }
    phase = .paused
    let waiting = withoutWaiting()
    lock.unlock()
    letGo(waiting)
    return .pause
  }

  /// The drain, or under the lock: what was taken out last is next again.
  @usableFromInline func putBack(_ payload: Payload, _ flight: Flight?) {
    if isBounded {
      lock.withLock { unsafe bounded?.putBack(payload, flight) }
    } else if unsafe at > 0 {
      unsafe at -= 1
      unsafe batch[at] = .call(payload, flight)
    } else {
      unsafe batch.insert(.call(payload, flight), at: 0)
    }
  }

  /// Under the lock: from now on nobody waits for what is here. O(n)
  private func withoutWaiting() -> Waiting {
    var waiting: Waiting = unsafe bounded?.withoutWaiting() ?? ([], [])
    func pass(_ item: inout LaneItem<Payload>) {
      switch item {
      case .call(let payload, let flight?) where flight.isToBeTold:
        waiting.calls.append(flight)
        item = .call(payload, flight.withoutWaiting)
      case .barrier(let flight):
        waiting.barriers.append(flight)
        item = .done
      default: break
      }
    }
    for i in unsafe at..<batch.count { unsafe pass(&batch[i]) }
    for i in unsafe items.indices { unsafe pass(&items[i]) }
    return waiting
  }

  /// Nobody waits for what comes while it is paused.
  @usableFromInline @inline(never) func pushPaused(_ item: LaneItem<Payload>) -> Bool {
    lock.lock()
    guard phase == .paused else {
      lock.unlock()
      return push(item)
    }
    var (dropped, waiting): (LaneQueue<Payload>.Dropped?, Waiting) = (nil, ([], []))
    switch item {
    case .call(_, let flight):
      if isBounded { dropped = unsafe bounded?.append(item) } else { unsafe items.append(item) }
      if let flight, flight.isAwaited { waiting = withoutWaiting() }
    case .barrier(let flight): waiting.barriers = [flight]
    case .end, .done: break
    }
    lock.unlock()
    if let dropped { conclude(.dropped, dropped.flight, at: self) }
    letGo(waiting)
    return dropped?.isNew != true
  }

  /// Under the lock, while it is paused: all that waits, which then never begins.
  func takeAll() -> [LaneItem<Payload>] {
    phase = .idle
    var all = unsafe Array(batch[at...]) + items
    while let item = unsafe bounded?.popFirst() { all.append(item) }
    unsafe (batch, at, items) = ([], 0, [])
    return all
  }
}
