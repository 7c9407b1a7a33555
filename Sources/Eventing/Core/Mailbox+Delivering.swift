public import Synchronization

// How one occurrence gets to all handlers. All of it happens inside, so the table does not change meanwhile: changes come after the occurrence.
//
// The quick way calls one closure after the other with the payload alone. It is open as long as no handler's state has changed since a walk that found
// nothing to decide: `changes` in the Home counts such changes, `settled` beside it is what it was before that walk, and they are compared before every
// call. So the quick way reads neither the records nor anything that those who post write. At the first difference or error `deliverRest` goes on:
// it looks at each record. For a post, handlers on lanes are closures as well (`settledForPosts`); for a send they are not, since it waits for them.

/// Where the quick way ended.
@safe @usableFromInline struct Position {
  @usableFromInline let band: Band.Pointer
  @usableFromInline let row: UnsafeMutablePointer<Row>
  /// What the handler there threw, if it was called.
  @usableFromInline let error: (any Error)?

  @inlinable init(_ band: Band.Pointer, _ row: UnsafeMutablePointer<Row>, _ error: (any Error)?) {
    unsafe self.band = unsafe band
    unsafe self.row = unsafe row
    self.error = error
  }

  @usableFromInline var index: Int { unsafe row - band.pointee.rows }
}

extension Mailbox {
  /// Inside: delivers one occurrence the quick way, as far as that goes.
  ///
  /// - Returns: where to go on, or nil if every handler has been called: then `table.count` of them.
  @inlinable @inline(__always) func deliver(_ payload: Loan, isPost: Bool) -> Position? {
    unsafe deliver(payload, isPost: isPost, nil)
  }

  /// The same, with the home if that is known.
  @inlinable @inline(__always) func deliver(_ payload: Loan, isPost: Bool, _ known: Unmanaged<Home>?) -> Position? {
    unsafe sequence &+= 1
    guard let first = unsafe table.first else { return nil }
    // Safe: there has been a handler, so there is a home, and the mailbox holds it.
    let home = unsafe known ?? homeReference.lend().unsafelyUnwrapped
    return unsafe callEach(payload, from: first, home) { unsafe isPost ? $0.settledForPosts : $0.settled }
  }

  /// Inside: calls one handler after the other, as long as no handler's state has changed since the epoch.
  @inlinable @inline(__always) func callEach(
    _ payload: Loan, from first: Band.Pointer, _ home: Unmanaged<Home>, epoch: (Home) -> UInt64
  ) -> Position? {
    var band = unsafe first
    while true {
      // Counted up to the end, so that one addition moves the row and tells whether there are more.
      let end = unsafe band.pointee.rows + Int(band.pointee.count)
      var index = unsafe -Int(band.pointee.count)
      while index != 0 {
        guard
          unsafe home._withUnsafeGuaranteedRef({ $0.changes.load(ordering: .acquiring) == epoch($0) })
        else {
          return unsafe Position(band, end + index, nil)
        }
        do { unsafe try end[index].call(payload) } catch { return unsafe Position(band, end + index, error) }
        index &+= 1
      }
      guard let next = unsafe band.pointee.next else { return nil }
      unsafe band = unsafe next
    }
  }

  /// The same for a post.
  @usableFromInline @inline(never) func postRest(_ payload: Loan, from position: Position, sender: (any AnyObject & Sendable)?) {
    _ = unsafe deliverRest(payload, from: position, isAwaited: false, sender: sender)
  }

  /// Inside: delivers the same occurrence to the rest of the handlers.
  @usableFromInline @inline(never) func deliverRest(
    _ payload: Loan, from position: Position, isAwaited: Bool, sender: (any AnyObject & Sendable)?, first: Band.Pointer? = nil
  ) -> Tally {
    var tally = unsafe Tally(sequence: sequence, isAwaited: isAwaited, sender: sender, flight: nil, path: nil, isClocked: clocked > 0)
    var from = position.index
    var called = from
    var earlier = unsafe first ?? table.first
    while let band = unsafe earlier, unsafe band != position.band {
      unsafe called += Int(band.pointee.count)
      unsafe earlier = unsafe band.pointee.next
    }
    tally.delivered = called
    switch position.error {
    case nil, RowSignal.decide?: break
    case RowSignal.stop?:
      tally.delivered += 1
      tally.isStopped = true
      from += 1
    case let error?:
      unsafe tally.fail(position.band.pointee.rows[from].record, home, error)
      from += 1
    }
    if tally.isStopped {
      unsafe skip(from: position.band, from, &tally)
      tidyRetired()
      return tally
    }
    unsafe walk(payload, position.band, from, isWhole: called == 0 && from == 0, &tally)
    return tally
  }

  /// Inside: an occurrence that was queued, or is submitted.
  @usableFromInline func deliverQueued(_ payload: Loan, _ flight: Flight?) {
    if let context = flight?.context { within(context) { deliverNow(payload, flight) } } else { deliverNow(payload, flight) }
  }

  /// With the task-local values of the sender.
  @usableFromInline @inline(never) func within(_ context: CarriedContext, _ deliver: () -> Void) { context.run(deliver) }

  @usableFromInline func deliverNow(_ payload: Loan, _ flight: Flight?) {
    if isSpecial, deliverSpecially(payload, flight) { return }
    if flight == nil, !isKeeping, let home = unsafe homeReference.lend() { return unsafe deliverPlainly(payload, home) }
    unsafe sequence &+= 1
    let isAwaited = flight?.isAwaited ?? false
    var tally = unsafe Tally(
      sequence: sequence, isAwaited: isAwaited, sender: flight?.sender, flight: flight, path: flight?.path, isClocked: clocked > 0)
    if isKeeping { tally.observe(livingObservers()) }
    if let first = unsafe table.first { unsafe walk(payload, first, 0, isWhole: true, &tally) }
    if isKeeping { tellIfUnheard(payload, tally) }
    if isAwaited { flight?.finishDelivery(tally.report) }
  }

  /// Inside: the home, if all there is to do with a post is to call handlers. It is asked before several, since those who queue write beside what tells it.
  @usableFromInline var plainHome: Unmanaged<Home>? { unsafe isKeeping || isSpecial ? nil : homeReference.lend() }

  /// Inside: a post that was queued, of which nobody wants to know what becomes.
  @usableFromInline func deliverPlainly(_ payload: Loan, _ home: Unmanaged<Home>) {
    guard let position = unsafe deliver(payload, isPost: true, home) else { return }
    _ = unsafe deliverRest(payload, from: position, isAwaited: false, sender: nil)
  }

  /// Inside: whether there is more to do with an occurrence than to call handlers.
  @usableFromInline var isSpecial: Bool { unsafe backlogReference.lend()?._withUnsafeGuaranteedRef { $0.isSpecial } ?? false }

  /// Inside: does it; true if that was the delivery, too.
  @usableFromInline @inline(never) func deliverSpecially(_ payload: Loan, _ flight: Flight?) -> Bool {
    let backlog = backlog
    if let greets = unsafe backlog.greets, let greeting = greets(payload) { unsafe backlog.greeting = consume greeting }
    if let history = backlog.history { unsafe history.note(payload, sequence &+ 1, from: flight?.sender) }
    guard let addresses = unsafe backlog.addresses else { return false }
    let isAwaited = flight?.isAwaited ?? false
    let tally = unsafe deliver(
      payload, to: addresses.table(for: payload), addresses, isForAny: addresses.isForAny(payload), isAwaited: isAwaited,
      sender: flight?.sender, flight)
    if isAwaited { flight?.finishDelivery(tally.report) }
    return true
  }

  /// Inside: an occurrence for those who observe the event.
  @usableFromInline func watched(_ sequence: UInt64) -> Watched? {
    unsafe homeReference.load()?.observers.map { Watched(observers: $0, sequence: sequence) }
  }

  /// Inside: goes from a row on, and looks at each.
  @usableFromInline func walk(
    _ payload: Loan, _ start: Band.Pointer, _ index: Int, isWhole: Bool, _ tally: inout Tally
  ) {
    let before = withHome { $0.changes.load(ordering: .acquiring) }
    var due = isWhole ? Due.never : .always
    var next: Band.Pointer? = unsafe start
    var from = index
    while let band = unsafe next {
      let count = unsafe Int(band.pointee.count)
      for i in from..<max(from, count) {
        let isDue = unsafe visit(band.pointee.rows + i, payload, &tally)
        if isDue.rawValue > due.rawValue { due = isDue }
        if tally.isStopped {
          unsafe skip(from: band, i + 1, &tally)
          return tidyRetired()
        }
      }
      from = 0
      unsafe next = unsafe band.pointee.next
    }
    tidyRetired()
    withHome { home in
      if due != .always { unsafe home.settledForPosts = before }
      if due == .never { unsafe home.settled = before }
    }
  }

  /// Inside: one row, and whether it has to be looked at next time, too.
  @usableFromInline @inline(__always) func visit(_ row: UnsafeMutablePointer<Row>, _ payload: Loan, _ tally: inout Tally) -> Due {
    if tally.watched != nil { return unsafe visitWatched(row, payload, &tally) }
    return unsafe visitNow(row, payload, &tally)
  }

  /// The same for those who observe the event.
  @usableFromInline @inline(never) func visitWatched(
    _ row: UnsafeMutablePointer<Row>, _ payload: Loan, _ tally: inout Tally
  ) -> Due {
    let token = unsafe HandlerToken(row.pointee.record, home)
    let before = (delivered: tally.delivered, skipped: tally.skipped, held: tally.held)
    let isDue = unsafe visitNow(row, payload, &tally)
    let details = unsafe row.pointee.record.details
    if tally.delivered > before.delivered, details?.isHandedOver == true { tally.watched?.began(token).ended(nil) }
    if tally.skipped > before.skipped { tally.watched?.skipped(token) }
    if tally.held > before.held { tally.watched?.held(token) }
    return isDue
  }

  @usableFromInline @inline(__always) func visitNow(_ row: UnsafeMutablePointer<Row>, _ payload: Loan, _ tally: inout Tally) -> Due {
    let bits = unsafe row.pointee.bits()
    if let due = unsafe row.pointee.offer(payload, bits, &tally) { return due }
    if bits == Bit.special | Bit.detailed, tally.watched == nil,
      let viewer = unsafe Unmanaged<DetailedRecord>.fromOpaque(row.pointee.held.toOpaque())._withUnsafeGuaranteedRef({ unsafe $0.viewer })
    {
      do {
        if try viewer(payload) {
          tally.delivered &+= 1
        } else {
          unsafe row.pointee.countSkipped()
          tally.skipped &+= 1
        }
      } catch {
        unsafe tally.fail(row.pointee.record, home, error)
      }
      return .sends
    }
    if bits & Bit.decide != 0 {
      return unsafe row.pointee.held._withUnsafeGuaranteedRef { record in
        guard unsafe decide(row, record, bits, payload, &tally) else { return .never }
        return unsafe bits == Bit.special | Bit.detailed && record.details?.takesPosts == true ? .sends : .always
      }
    }
    if tally.watched != nil {
      unsafe tally.watch(row.pointee.record, home) { unsafe try row.pointee.call(payload) }
      return .never
    }
    do {
      unsafe try row.pointee.call(payload)
      tally.delivered &+= 1
    } catch {
      unsafe tally.fail(row.pointee.record, home, error)
    }
    return .never
  }

  /// Inside: a row at which there is something to decide. A handler that is gone is none: it is not counted.
  ///
  /// - Returns: whether there will be next time, too.
  @usableFromInline func decide(
    _ row: UnsafeMutablePointer<Row>, _ record: Record, _ bits: UInt32, _ payload: Loan, _ tally: inout Tally
  ) -> Bool {
    let details = bits & Bit.detailed == 0 ? nil : record.details
    var owner: (any AnyObject & Sendable)?
    if bits & Bit.gone != 0 {
      noteRetired(record)
      return false
    }
    if let box = details?.options.owner {
      owner = box.object  // held for the call
      guard owner != nil else {
        if mutant(.orphanStays) { return true }
        record.set(Bit.removed)
        noteRetired(record)
        return false
      }
    }
    // Locked: skipped now, on a lane too, and not only when it would run there.
    if bits & Bit.mute != 0 {
      unsafe refuse(row, record, bits, payload, &tally)
      return true
    }
    let isTaken: Bool
    if let details, let work = unsafe details.work {
      isTaken = work.take(payload, owner, details, home, &tally)
    } else if record.claim() {
      isTaken = true
      tally.call(record, home) { unsafe try row.pointee.call(payload) }
    } else {
      isTaken = false
    }
    if !isTaken { unsafe refuse(row, record, row.pointee.bits(), payload, &tally) }
    guard bits & Bit.once != 0, record.has(Bit.spent) else { return true }
    noteRetired(record)  // tidied after the occurrence: the row is in use
    return false
  }

  /// Inside: a handler that is not to be called now.
  @usableFromInline @inline(__always) func refuse(
    _ row: UnsafeMutablePointer<Row>, _ record: Record, _ bits: UInt32, _ payload: Loan, _ tally: inout Tally
  ) {
    if bits & Bit.holds != 0 || tally.isLate, bits & Bit.silent != 0, unsafe hold(row, record, payload, &tally) { return }
    unsafe row.pointee.countSkipped()
    if !mutant(.skipIsNotCounted) { tally.skipped &+= 1 }
  }

  /// Inside: what an interceptor stopped is skipped for the handlers that follow.
  @usableFromInline @inline(never) func skip(from start: Band.Pointer, _ index: Int, _ tally: inout Tally) {
    var next: Band.Pointer? = unsafe start
    var from = index
    while let band = unsafe next {
      for i in unsafe from..<max(from, Int(band.pointee.count)) { unsafe skip(band.pointee.rows + i, &tally) }
      from = 0
      unsafe next = unsafe band.pointee.next
    }
  }

  @usableFromInline func skip(_ row: UnsafeMutablePointer<Row>, _ tally: inout Tally) {
    let record = unsafe row.pointee.record
    guard isAlive(record) else {
      record.set(Bit.removed)
      return noteRetired(record)
    }
    unsafe row.pointee.countSkipped()
    tally.skipped &+= 1
    tally.watched?.skipped(HandlerToken(record, home))
  }
}
