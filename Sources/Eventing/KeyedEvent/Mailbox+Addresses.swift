import Synchronization

// How one occurrence of a keyed event gets to the handlers of its key, and to those of any key.

extension Mailbox {
  /// Inside: a post, the quick way as far as that goes: to the handlers of one key, if nobody listens to all keys.
  @usableFromInline func post(
    _ payload: Loan, to lent: Unmanaged<AddressTable>?, _ addresses: Addresses, isForAny: Bool, _ sender: (any AnyObject & Sendable)?
  ) {
    guard unsafe !isForAny || table.count == 0, let list = unsafe lent, let home = unsafe homeReference.lend(),
      let first = unsafe list._withUnsafeGuaranteedRef({ unsafe $0.table.first }),
      unsafe home._withUnsafeGuaranteedRef({ $0.changes.load(ordering: .acquiring) })
        == list._withUnsafeGuaranteedRef({ unsafe $0.settled })
    else {
      return _ = unsafe deliver(payload, to: lent, addresses, isForAny: isForAny, isAwaited: false, sender: sender, nil)
    }
    unsafe sequence &+= 1
    if isForAny { unsafe addresses.offeredToAny += 1 }
    unsafe list._withUnsafeGuaranteedRef { unsafe $0.offered += 1 }
    if let position = unsafe callEach(
      payload, from: first, home, epoch: { _ in unsafe list._withUnsafeGuaranteedRef { unsafe $0.settled } })
    {
      unsafe postRest(payload, to: list.takeUnretainedValue(), from: position, sender)
    }
  }

  @inline(never) private func postRest(
    _ payload: Loan, to list: AddressTable, from position: Position, _ sender: (any AnyObject & Sendable)?
  ) {
    unsafe list.settled = 0
    _ = unsafe deliverRest(payload, from: position, isAwaited: false, sender: sender, first: list.table.first)
    tidy(list)
  }

  private func tidy(_ list: AddressTable) {
    if unsafe list.table.dead > 0 {
      lock.lock()
      unsafe list.table.compact()
      lock.unlock()
      forgetIfEmpty(list)
    }
  }

  /// Inside: delivers one occurrence.
  func deliver(
    _ payload: Loan, to lent: Unmanaged<AddressTable>?, _ addresses: Addresses, isForAny: Bool, isAwaited: Bool,
    sender: (any AnyObject & Sendable)?, _ flight: Flight?
  ) -> Tally {
    let list = unsafe lent?.takeUnretainedValue()  // held: the last of its handlers may go
    unsafe sequence &+= 1
    var tally = unsafe Tally(
      sequence: sequence, isAwaited: isAwaited, sender: sender, flight: flight, path: flight?.path, isClocked: clocked > 0)
    tally.observe(livingObservers())
    let before = withHome { $0.changes.load(ordering: .acquiring) }
    var due = Due.never
    let one = unsafe list?.table.first
    let other = unsafe isForAny ? table.first : nil
    if isForAny { unsafe addresses.offeredToAny += 1 }
    if let list { unsafe list.offered += 1 }
    unsafe merge(one, other) { row in
      if tally.isStopped {
        unsafe skip(row, &tally)
        due = .always
      } else {
        let isDue = unsafe visit(row, payload, &tally)
        if isDue.rawValue > due.rawValue { due = isDue }
      }
    }
    tidyRetired()
    tellIfUnheard(payload, tally)
    if let list {
      unsafe list.settled = due == .always ? 0 : before
      tidy(list)
    }
    return tally
  }

  /// The rows of two tables as if they were one: by descending priority, then by the handlers' numbers.
  private func merge(
    _ one: Band.Pointer?, _ other: Band.Pointer?, _ body: (UnsafeMutablePointer<Row>) -> Void
  ) {
    var (one, other) = unsafe (one, other)
    while true {
      switch unsafe (one, other) {
      case (nil, nil): return
      case (let a?, let b?) where unsafe a.pointee.priority == b.pointee.priority:
        unsafe merge(a, b, body)
        unsafe one = unsafe a.pointee.next
        unsafe other = unsafe b.pointee.next
      case (let a?, let b) where unsafe b == nil || a.pointee.priority > b!.pointee.priority:
        for i in unsafe 0..<Int(a.pointee.count) { unsafe body(a.pointee.rows + i) }
        unsafe one = unsafe a.pointee.next
      case (_, let b?):
        for i in unsafe 0..<Int(b.pointee.count) { unsafe body(b.pointee.rows + i) }
        unsafe other = unsafe b.pointee.next
      default: return
      }
    }
  }

  private func merge(
    _ one: Band.Pointer, _ other: Band.Pointer, _ body: (UnsafeMutablePointer<Row>) -> Void
  ) {
    var (i, j) = (0, 0)
    while true {
      let a = unsafe i < Int(one.pointee.count) ? one.pointee.rows + i : nil
      let b = unsafe j < Int(other.pointee.count) ? other.pointee.rows + j : nil
      switch unsafe (a, b) {
      case (let a?, let b) where unsafe b == nil || a.pointee.record.id < b!.pointee.record.id:
        unsafe body(a)
        i += 1
      case (_, let b?):
        unsafe body(b)
        j += 1
      default: return
      }
    }
  }
}
