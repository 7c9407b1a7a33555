import Synchronization

// How one occurrence of a keyed event gets to the handlers of its key, and to those of any key.

extension EventCore {
  /// Inside: a post, the quick way as far as that goes: to the handlers of one key, if nobody listens to all keys.
  @usableFromInline func post(
    _ payload: BorrowedPayload, to lent: Unmanaged<KeyTable>?, _ keyIndex: AnyKeyIndex, isForAny: Bool,
    _ sender: (any AnyObject & Sendable)?
  ) {
    guard unsafe !isForAny || table.count == 0, let list = unsafe lent, let identity = unsafe identityReference.lend(),
      let first = unsafe list._withUnsafeGuaranteedRef({ unsafe $0.table.first }),
      unsafe identity._withUnsafeGuaranteedRef({ $0.changes.load(ordering: .acquiring) })
        == list._withUnsafeGuaranteedRef({ unsafe $0.fastPathEpoch })
    else {
      return _ = unsafe deliver(payload, to: lent, keyIndex, isForAny: isForAny, isAwaited: false, sender: sender, nil)
    }
    unsafe sequence &+= 1
    if isForAny { unsafe keyIndex.offeredToAny += 1 }
    unsafe list._withUnsafeGuaranteedRef { unsafe $0.offered += 1 }
    if let position = unsafe callEach(
      payload, from: first, identity, epoch: { _ in unsafe list._withUnsafeGuaranteedRef { unsafe $0.fastPathEpoch } })
    {
      unsafe postSlowPath(payload, to: list.takeUnretainedValue(), from: position, sender)
    }
  }

  @inline(never) private func postSlowPath(
    _ payload: BorrowedPayload, to list: KeyTable, from position: DeliveryCursor, _ sender: (any AnyObject & Sendable)?
  ) {
    unsafe list.fastPathEpoch = 0
    _ = unsafe deliverSlowPath(payload, from: position, isAwaited: false, sender: sender, first: list.table.first)
    unregister(list)
  }

  private func unregister(_ list: KeyTable) {
    if unsafe list.table.dead > 0 {
      mutex.lock()
      unsafe list.table.compact()
      mutex.unlock()
      forgetIfEmpty(list)
    }
  }

  /// Inside: delivers one occurrence.
  func deliver(
    _ payload: BorrowedPayload, to lent: Unmanaged<KeyTable>?, _ keyIndex: AnyKeyIndex, isForAny: Bool, isAwaited: Bool,
    sender: (any AnyObject & Sendable)?, _ completion: Completion?
  ) -> DeliveryTally {
    let list = unsafe lent?.takeUnretainedValue()  // held: the last of its handlers may go
    unsafe sequence &+= 1
    var tally = unsafe DeliveryTally(
      sequence: sequence, isAwaited: isAwaited, sender: sender, completion: completion, path: completion?.path,
      isClocked: clocked > 0)
    tally.observe(livingObservers())
    let before = withIdentity { $0.changes.load(ordering: .acquiring) }
    var due = PathNeeded.never
    let one = unsafe list?.table.first
    let other = unsafe isForAny ? table.first : nil
    if isForAny { unsafe keyIndex.offeredToAny += 1 }
    if let list { unsafe list.offered += 1 }
    unsafe merge(one, other) { slot in
      if tally.isStopped {
        unsafe skip(slot, &tally)
        due = .always
      } else {
        let isDue = unsafe visit(slot, payload, &tally)
        if isDue.rawValue > due.rawValue { due = isDue }
      }
    }
    unregisterDead()
    tellIfUnheard(payload, tally)
    if let list {
      unsafe list.fastPathEpoch = due == .always ? 0 : before
      unregister(list)
    }
    return tally
  }

  /// The slots of two tables as if they were one: by descending priority, then by the handlers' numbers.
  private func merge(
    _ one: PriorityBucket.Pointer?, _ other: PriorityBucket.Pointer?,
    _ body: (UnsafeMutablePointer<HandlerSlot>) -> Void
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
        for i in unsafe 0..<Int(a.pointee.count) { unsafe body(a.pointee.slots + i) }
        unsafe one = unsafe a.pointee.next
      case (_, let b?):
        for i in unsafe 0..<Int(b.pointee.count) { unsafe body(b.pointee.slots + i) }
        unsafe other = unsafe b.pointee.next
      default: return
      }
    }
  }

  private func merge(
    _ one: PriorityBucket.Pointer, _ other: PriorityBucket.Pointer, _ body: (UnsafeMutablePointer<HandlerSlot>) -> Void
  ) {
    var (i, j) = (0, 0)
    while true {
      let a = unsafe i < Int(one.pointee.count) ? one.pointee.slots + i : nil
      let b = unsafe j < Int(other.pointee.count) ? other.pointee.slots + j : nil
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
