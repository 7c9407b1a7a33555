// With a bound what is dropped may be anywhere in line, so the drain takes one item at a time, under the lock.

extension SerialLane {
  @usableFromInline func pushBounded(_ item: LaneItem<Payload>) -> Bool {
    lock.lock()
    guard phase != .paused else {
      lock.unlock()
      return pushPaused(item)
    }
    let dropped = unsafe bounded?.append(item)
    let start = phase == .idle
    phase = .running
    lock.unlock()
    if let dropped { conclude(.dropped, dropped.flight, at: self) }
    if start { schedule() }
    return dropped?.isNew != true
  }

  /// Under the lock.
  @usableFromInline var isBoundedDry: Bool { unsafe bounded?.isEmpty ?? true }

  @usableFromInline func nextBounded(_ turn: inout Turn) -> (Payload, Flight?)? {
    while true {
      if turn.isOver {
        schedule()
        return nil
      }
      lock.lock()
      let item = unsafe bounded?.popFirst()
      if item == nil { phase = .idle }
      lock.unlock()
      guard let item else { return nil }
      if let call = opened(item) {
        turn.left &-= 1
        return call
      }
    }
  }
}
