// How one occurrence of a keyed event gets to the handlers of its key, and to those of any key.

extension Mailbox {
  /// Inside: delivers one occurrence.
  @usableFromInline func deliver(
    _ payload: Payload, _ addresses: Addresses<Payload>, isAwaited: Bool, sender: (any AnyObject & Sendable)?, _ flight: Flight?
  ) -> Tally {
    unsafe sequence &+= 1
    var tally = unsafe Tally(
      sequence: sequence, isAwaited: isAwaited, sender: sender, flight: flight, path: flight?.path, isClocked: clocked > 0)
    tally.observe(livingObservers())
    let list = addresses.table(for: payload)
    let one = unsafe list?.table.first
    let isForAny = addresses.isForAny(payload)
    let other = unsafe isForAny ? table.first : nil
    if isForAny { unsafe addresses.offeredToAny += 1 }
    if let list { unsafe list.offered += 1 }
    unsafe merge(one, other) { row in
      if tally.isStopped { unsafe skip(row, &tally) } else { _ = unsafe visit(row, payload, &tally) }
    }
    tidyRetired()
    tellIfUnheard(payload, tally)
    if let list, unsafe list.table.dead > 0 {
      lock.lock()
      unsafe list.table.compact()
      lock.unlock()
      forgetIfEmpty(list)
    }
    return tally
  }

  /// The rows of two tables as if they were one: by descending priority, then by the handlers' numbers.
  private func merge(
    _ one: Band<Payload>.Pointer?, _ other: Band<Payload>.Pointer?, _ body: (UnsafeMutablePointer<Row<Payload>>) -> Void
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
    _ one: Band<Payload>.Pointer, _ other: Band<Payload>.Pointer, _ body: (UnsafeMutablePointer<Row<Payload>>) -> Void
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
