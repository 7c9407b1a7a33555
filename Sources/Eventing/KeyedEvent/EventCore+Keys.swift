import Synchronization

// Delivers an occurrence of a keyed event to the handlers of its key and of `anyKey`. The core's
// own table has the handlers of `anyKey`. Each key with handlers has a `KeyTable`.
extension EventCore {
  // MARK: Sending

  @inlinable @inline(__always) func post(
    _ payload: BorrowedPayload, from sender: (any AnyObject & Sendable)?,
    to table: () -> Unmanaged<KeyTable>?
  ) {
    let own = enter()
    guard own != 0 else { return postBusy(payload, from: sender) }
    unsafe post(payload, to: table(), sender)
    leave(own)
  }

  func send(
    _ payload: BorrowedPayload, from sender: (any AnyObject & Sendable)?,
    to table: () -> Unmanaged<KeyTable>?
  ) -> PendingSend {
    let own = enter()
    guard own != 0 else { return sendBusy(payload, from: sender) }
    let table = unsafe table()
    if DeliveryDepth.isTooDeep {
      let completion = Completion(.send, from: sender)
      noteWait(.send, completion)
      setAside(payload, completion)
      return PendingSend(report: SendReport(), completion: completion)
    }
    let delivery = unsafe deliver(payload, to: table, isAwaited: true, sender: sender, nil)
    leave(own)
    return PendingSend(delivery)
  }

  // MARK: Inspecting

  func livingKeyBoxes() -> [AnyKeyBox] {
    candidates().compactMap { candidate in candidate.key.flatMap { isAlive(candidate.record) ? $0 : nil } }
  }

  // MARK: Delivering
  // Isolation: core.

  @usableFromInline func post(
    _ payload: BorrowedPayload, to borrowed: Unmanaged<KeyTable>?, _ sender: (any AnyObject & Sendable)?
  ) {
    guard unsafe table.count == 0, let keyTable = unsafe borrowed,
      let anchor = unsafe anchorReference.lend(),
      let first = unsafe keyTable._withUnsafeGuaranteedRef({ unsafe $0.table.first }),
      unsafe anchor._withUnsafeGuaranteedRef({ $0.changes.load(ordering: .acquiring) })
        == keyTable._withUnsafeGuaranteedRef({ unsafe $0.fastPathEpoch })
    else {
      if DeliveryDepth.isTooDeep {
        return setAside(payload, sender == nil && !CarriedContext.isCarrying ? nil : Completion(.post, from: sender))
      }
      return _ = unsafe deliver(payload, to: borrowed, isAwaited: false, sender: sender, nil)
    }
    sequence &+= 1
    unsafe keyTable._withUnsafeGuaranteedRef { $0.countOffered() }
    if let cursor = unsafe callEach(
      payload, from: first, anchor,
      epoch: { _ in unsafe keyTable._withUnsafeGuaranteedRef { unsafe $0.fastPathEpoch } })
    {
      unsafe postSlowPath(payload, to: keyTable.takeUnretainedValue(), from: cursor, sender)
    }
  }

  @inline(never) private func postSlowPath(
    _ payload: BorrowedPayload, to keyTable: KeyTable, from cursor: DeliveryCursor,
    _ sender: (any AnyObject & Sendable)?
  ) {
    unsafe keyTable.fastPathEpoch = 0
    _ = unsafe deliverSlowPath(payload, from: cursor, isAwaited: false, sender: sender, first: keyTable.table.first)
    compact(keyTable)
  }

  private func compact(_ keyTable: KeyTable) {
    guard unsafe keyTable.table.deadCount > 0 else { return }
    mutex.lock()
    unsafe keyTable.table.compact()
    mutex.unlock()
    dropIfEmpty(keyTable)
  }

  /// Not inlined, because its frame would cost the fast path 18 instructions (x86-64 Linux).
  @inline(never) func deliver(
    _ payload: BorrowedPayload, to borrowed: Unmanaged<KeyTable>?, isAwaited: Bool,
    sender: (any AnyObject & Sendable)?, _ completion: Completion?
  ) -> Delivery {
    let keyTable = unsafe borrowed?.takeUnretainedValue()  // retained, because the key's last handler may go
    sequence &+= 1
    var delivery = unsafe Delivery(
      payload, sequence: sequence, isAwaited: isAwaited, sender: sender, completion: completion, path: completion?.path,
      isClocked: clockedCount > 0)
    delivery.observe(livingObservers())
    let before = withAnchor { $0.changes.load(ordering: .acquiring) }
    var needed = PathNeeded.fast
    if let keyTable { keyTable.countOffered() }
    if delivery.observed != nil {
      watched(payload, completion, &delivery) { needed = visitEach(payload, keyTable, &$0) }
    } else {
      needed = visitEach(payload, keyTable, &delivery)
    }
    unregisterDead()
    reportIfUnhandled(payload, delivery)
    if let keyTable {
      unsafe keyTable.fastPathEpoch = needed == .slow ? 0 : before
      compact(keyTable)
    }
    return delivery
  }

  private func visitEach(
    _ payload: BorrowedPayload, _ keyTable: KeyTable?, _ delivery: inout Delivery
  ) -> PathNeeded {
    let depth = unsafe DeliveryDepth.ofThread
    unsafe depth.pointee += 1
    defer { unsafe depth.pointee -= 1 }
    var needed = PathNeeded.fast
    var payload = payload
    unsafe merge(keyTable?.table.first, table.first) { slot in
      if delivery.isStopped {
        unsafe skip(slot, &delivery)
        needed = .slow
      } else {
        let path = unsafe visitOne(slot, payload, &delivery)
        if path.rawValue > needed.rawValue { needed = path }
        payload = delivery.payloadForLater(payload)
      }
    }
    return needed
  }

  /// Not inlined, because ``merge(_:_:_:)`` calls its closure in four places.
  @inline(never) private func visitOne(
    _ slot: UnsafeMutablePointer<HandlerSlot>, _ payload: BorrowedPayload, _ delivery: inout Delivery
  ) -> PathNeeded {
    unsafe visit(slot, payload, &delivery)
  }

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
