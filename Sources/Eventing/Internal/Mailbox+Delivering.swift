public import Synchronization

// How one occurrence gets to all handlers. All of it happens inside, so the table does not change meanwhile: changes come after the occurrence.
//
// The quick way calls one closure after the other with the payload alone. It is open as long as no handler's state has changed since a walk that found
// nothing to decide: `changes` in the Home counts such changes, `settled` beside it is what it was before that walk, and they are compared before every
// call. So the quick way reads neither the records nor anything that those who post write. At the first difference, error, or handler that is
// more than a closure, `deliverRest` goes on: it looks at each record.

/// Where the quick way ended.
@safe @usableFromInline struct Position<Payload: Sendable> {
  @usableFromInline let band: Band<Payload>.Pointer
  @usableFromInline let row: UnsafeMutablePointer<Row<Payload>>
  /// What the handler there threw, if it was called.
  @usableFromInline let error: (any Error)?

  @inlinable init(_ band: Band<Payload>.Pointer, _ row: UnsafeMutablePointer<Row<Payload>>, _ error: (any Error)?) {
    unsafe self.band = unsafe band
    unsafe self.row = unsafe row
    self.error = error
  }

  @inlinable var index: Int { unsafe row - band.pointee.rows }
}

extension Mailbox {
  /// Inside: delivers one occurrence the quick way, as far as that goes.
  ///
  /// - Returns: where to go on, or nil if every handler has been called: then `table.count` of them.
  @inlinable @inline(__always) func deliver(_ payload: Payload) -> Position<Payload>? {
    unsafe sequence &+= 1
    guard var band = unsafe table.first else { return nil }
    // Safe: there has been a handler, so there is a home, and the mailbox holds it.
    let home = unsafe homeReference.held.load(ordering: .acquiring).unsafelyUnwrapped
    while true {
      // Counted up to the end, so that one addition moves the row and tells whether there are more.
      let end = unsafe band.pointee.rows + Int(band.pointee.count)
      var index = unsafe -Int(band.pointee.count)
      while index != 0 {
        guard unsafe home._withUnsafeGuaranteedRef({ unsafe $0.changes.load(ordering: .acquiring) == $0.settled }) else {
          return unsafe Position(band, end + index, nil)
        }
        do { unsafe try end[index].call(payload) } catch { return unsafe Position(band, end + index, error) }
        index &+= 1
      }
      guard let next = unsafe band.pointee.next else { return nil }
      unsafe band = unsafe next
    }
  }

  /// Inside: delivers the same occurrence to the rest of the handlers.
  @inlinable @inline(never) func deliverRest(
    _ payload: Payload, from position: Position<Payload>, isAwaited: Bool, sender: (any AnyObject & Sendable)?
  ) -> Tally {
    var tally = unsafe Tally(sequence: sequence, isAwaited: isAwaited, sender: sender, flight: nil, isClocked: clocked > 0)
    var from = position.index
    var called = from
    var earlier = unsafe table.first
    while let band = unsafe earlier, unsafe band != position.band {
      unsafe called += Int(band.pointee.count)
      unsafe earlier = unsafe band.pointee.next
    }
    tally.delivered = called
    if let error = position.error {
      unsafe fail(position.band.pointee.rows[from].record, error, &tally)
      from += 1
    }
    unsafe walk(payload, position.band, from, isWhole: called == 0 && from == 0, &tally)
    return tally
  }

  /// Inside: an occurrence that was queued, or is submitted.
  @inlinable func deliverQueued(_ payload: Payload, _ flight: Flight?) {
    guard let flight else {
      if let position = deliver(payload) { _ = deliverRest(payload, from: position, isAwaited: false, sender: nil) }
      return
    }
    unsafe sequence &+= 1
    var tally = unsafe Tally(
      sequence: sequence, isAwaited: flight.isAwaited, sender: flight.sender, flight: flight, isClocked: clocked > 0)
    if let first = unsafe table.first { unsafe walk(payload, first, 0, isWhole: true, &tally) }
    if flight.isAwaited { flight.finishDelivery(tally.report) }
  }

  /// Inside: goes from a row on, and looks at each.
  @inlinable func walk(
    _ payload: Payload, _ start: Band<Payload>.Pointer, _ index: Int, isWhole: Bool, _ tally: inout Tally
  ) {
    let before = home.changes.load(ordering: .acquiring)
    var isQuiet = isWhole
    var next: Band<Payload>.Pointer? = unsafe start
    var from = index
    while let band = unsafe next {
      let count = unsafe Int(band.pointee.count)
      for i in from..<max(from, count) {
        let row = unsafe band.pointee.rows + i
        let bits = unsafe row.pointee.bits()
        if unsafe row.pointee.offer(payload, bits, &tally) {
          isQuiet = false
        } else if bits & Bit.decide != 0 {
          let again = unsafe row.pointee.held._withUnsafeGuaranteedRef { unsafe decide(row, $0, bits, payload, &tally) }
          if again { isQuiet = false }
        } else {
          do {
            unsafe try row.pointee.call(payload)
            tally.delivered &+= 1
          } catch {
            unsafe fail(row.pointee.record, error, &tally)
          }
        }
      }
      from = 0
      unsafe next = unsafe band.pointee.next
    }
    tidyRetired()
    if isQuiet { unsafe home.settled = before }
  }

  /// Inside: a row at which there is something to decide. A handler that is gone is none: it is not counted.
  ///
  /// - Returns: whether there will be next time, too.
  @inlinable func decide(
    _ row: UnsafeMutablePointer<Row<Payload>>, _ record: Record, _ bits: UInt32, _ payload: Payload, _ tally: inout Tally
  ) -> Bool {
    let details = bits & Bit.detailed == 0 ? nil : record.details(Payload.self)
    var owner: (any AnyObject & Sendable)?
    if bits & Bit.gone != 0 {
      noteRetired(record)
      return false
    }
    if let box = details?.options.owner {
      owner = box.object  // held for the call
      guard owner != nil else {
        record.set(Bit.removed)
        noteRetired(record)
        return false
      }
    }
    // Locked: skipped now, on a lane too, and not only when it would run there.
    if bits & Bit.mute != 0 {
      unsafe row.pointee.countSkipped()
      tally.skipped &+= 1
      return true
    }
    switch unsafe details?.work {
    case .serial(let lane):
      lane.take(payload, &tally)
      return true
    case .parallel(let lane):
      lane.take(payload, &tally)
      return true
    default: break
    }
    guard record.claim() else {
      unsafe row.pointee.countSkipped()
      tally.skipped &+= 1
      return true
    }
    if bits & Bit.once != 0 { noteRetired(record) }  // tidied after the occurrence: the row is in use
    do {
      if case .call(let body) = unsafe details?.work {
        try body(Call(payload, owner, details?.options.wantsStamp == true ? tally.stamp : nil))
      } else {
        unsafe try row.pointee.call(payload)
      }
      tally.delivered &+= 1
    } catch {
      fail(record, error, &tally)
    }
    return bits & Bit.once == 0
  }

  @inlinable func fail(_ record: Record, _ error: any Error, _ tally: inout Tally) {
    tally.failures.append(HandlerFailure(HandlerToken(record, home), error, record.details(Payload.self)?.options))
  }
}
