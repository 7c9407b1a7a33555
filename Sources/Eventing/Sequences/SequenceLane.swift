import Synchronization

/// What a sequence's handler does with an occurrence.
@usableFromInline final class SequenceLane: AnyLane, @unchecked Sendable {
  @usableFromInline let channel: Channel

  init(_ record: DetailedRecord, _ home: Home, _ channel: Channel) {
    self.channel = channel
    super.init(record, home)
  }

  /// Delivered is what an iterator will find, or would, if it comes in time: loops are not waited for.
  @usableFromInline func take(_ payload: Loan, _ tally: inout Tally) {
    if channel.isBounded { return takeBounded(payload, &tally) }
    channel.give(payload)
    countCallAlone()
    tally.delivered &+= 1
  }

  /// Its part in a post for which there was nothing to decide, if it is unbounded.
  @usableFromInline @inline(__always) func takePost(_ payload: Loan) {
    channel.give(payload)
    countCallAlone()
  }

  @usableFromInline func takeBounded(_ payload: Loan, _ tally: inout Tally) {
    let (taken, missing) = channel.give(payload, &tally)
    dropped.wrappingAdd(missing, ordering: .relaxed)
    for _ in 0..<missing { tally.watched?.dropped(HandlerToken(record, home)) }
    if taken > 0 { countCallAlone() }
    if taken > 0 { tally.delivered &+= 1 } else { tally.dropped &+= 1 }
  }

  @usableFromInline override func finish() -> Bool {
    channel.end(isRemoved: record.has(Bit.removed))
    record.set(Bit.spent)  // not removed: what waits can still be taken
    over.publish(true)
    return true
  }

  /// `quiesce` does not wait for loops.
  @usableFromInline override func sendBarrier(_ flight: Flight) {}
}
