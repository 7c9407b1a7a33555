public import Synchronization

// The thread stays inside the core until the delivery ends, so the table doesn't change during a
// delivery.
//
// The fast path calls each slot's closure with nothing but the payload. It opens after a walk in
// which every handler could be called that way and closes when a handler's state changes: before
// each call, `EventAnchor.changes`, which counts those changes, is compared with its value before
// that walk, `fastPathEpoch`. The fast path therefore reads neither records nor memory that posters
// write. At the first mismatch or error, the slow path takes over and reads each record.
//
// Posts have an epoch of their own, `postFastPathEpoch`, because fewer handlers need the slow path:
// the slot's closure for an unbounded sequence, or for a handler without an owner on a lane,
// enqueues the payload. A send needs each handler's outcome for its report.

@safe @usableFromInline struct DeliveryCursor {
  @usableFromInline let bucket: PriorityBucket.Pointer
  @usableFromInline let slot: UnsafeMutablePointer<HandlerSlot>
  @usableFromInline let error: (any Error)?

  @inlinable init(_ bucket: PriorityBucket.Pointer, _ slot: UnsafeMutablePointer<HandlerSlot>, _ error: (any Error)?) {
    unsafe self.bucket = unsafe bucket
    unsafe self.slot = unsafe slot
    self.error = error
  }

  var index: Int { unsafe slot - bucket.pointee.slots }
}

@usableFromInline enum PathNeeded: UInt8 {
  case fast
  case slowForSends
  case slow
}

// Isolation: core.
extension EventCore {
  // MARK: Fast path

  @inlinable @inline(__always) func deliver(
    _ payload: BorrowedPayload, isPost: Bool, _ known: Unmanaged<EventAnchor>? = nil
  ) -> DeliveryCursor? {
    sequence &+= 1
    guard let first = unsafe table.first else { return nil }
    // Safe: there is a handler, so there is an anchor, and the core retains it.
    let anchor = unsafe known ?? anchorReference.lend().unsafelyUnwrapped
    return unsafe callEach(payload, from: first, anchor) { unsafe isPost ? $0.postFastPathEpoch : $0.fastPathEpoch }
  }

  @inlinable @inline(__always) func callEach(
    _ payload: BorrowedPayload, from first: PriorityBucket.Pointer, _ anchor: Unmanaged<EventAnchor>,
    epoch: (EventAnchor) -> UInt64
  ) -> DeliveryCursor? {
    var bucket = unsafe first
    while true {
      // Counts up to zero, so that a single addition advances to the next slot and shows whether
      // there is one.
      let end = unsafe bucket.pointee.slots + Int(bucket.pointee.count)
      var index = unsafe -Int(bucket.pointee.count)
      while index != 0 {
        guard
          unsafe anchor._withUnsafeGuaranteedRef({ $0.changes.load(ordering: .acquiring) == epoch($0) })
        else {
          return unsafe DeliveryCursor(bucket, end + index, nil)
        }
        do { unsafe try end[index].call(payload) } catch { return unsafe DeliveryCursor(bucket, end + index, error) }
        index &+= 1
      }
      guard let next = unsafe bucket.pointee.next else { return nil }
      unsafe bucket = unsafe next
    }
  }

  /// `nil` if a delivery involves more than calling handlers. The drain reads the anchor once for
  /// several occurrences, because contending threads write to the cache line of `anchorReference`.
  var plainAnchor: Unmanaged<EventAnchor>? {
    unsafe mustEnqueue || hasDeliveryHooks ? nil : anchorReference.lend()
  }

  func deliverPost(_ payload: BorrowedPayload, _ anchor: Unmanaged<EventAnchor>) {
    guard let cursor = unsafe deliver(payload, isPost: true, anchor) else { return }
    _ = unsafe deliverSlowPath(payload, from: cursor, isAwaited: false, sender: nil)
  }

  // MARK: Slow path

  @inline(never) func deliverSlowPath(
    _ payload: BorrowedPayload, from cursor: DeliveryCursor, isAwaited: Bool, sender: (any AnyObject & Sendable)?,
    first: PriorityBucket.Pointer? = nil
  ) -> Delivery {
    var delivery = unsafe Delivery(
      payload, sequence: sequence, isAwaited: isAwaited, sender: sender, completion: nil, path: nil,
      isClocked: clockedCount > 0)
    var from = cursor.index
    var called = from
    var earlier = unsafe first ?? table.first
    while let bucket = unsafe earlier, unsafe bucket != cursor.bucket {
      unsafe called += Int(bucket.pointee.count)
      unsafe earlier = unsafe bucket.pointee.next
    }
    delivery.report.delivered = called
    switch cursor.error {
    case nil, SlotSignal.decide?: break
    case SlotSignal.intercepted(let decision)?:
      delivery.report.delivered += 1
      delivery.apply(decision)
      from += 1
    case let error?:
      unsafe delivery.fail(cursor.bucket.pointee.slots[from].record, anchor, error)
      from += 1
    }
    if delivery.isStopped {
      unsafe skip(from: cursor.bucket, from, &delivery)
      unregisterDead()
      return delivery
    }
    let payload = delivery.payloadForLater(payload)
    unsafe walk(payload, cursor.bucket, from, isWhole: called == 0 && from == 0, &delivery)
    return delivery
  }

  func deliverQueued(_ payload: BorrowedPayload, _ completion: Completion?) {
    if let context = completion?.context {
      within(context) { deliverOccurrence(payload, completion) }
    } else {
      deliverOccurrence(payload, completion)
    }
  }

  @inline(never) func within(_ context: CarriedContext, _ deliver: () -> Void) {
    context.run(deliver)
  }

  func deliverOccurrence(_ payload: BorrowedPayload, _ completion: Completion?) {
    if hasDeliveryHooks, deliverWithHooks(payload, completion) { return }
    if completion == nil, !mustEnqueue, let anchor = unsafe anchorReference.lend() {
      return unsafe deliverPost(payload, anchor)
    }
    sequence &+= 1
    let isAwaited = completion?.isAwaited ?? false
    var delivery = unsafe Delivery(
      payload, sequence: sequence, isAwaited: isAwaited, sender: completion?.sender, completion: completion,
      path: completion?.path, isClocked: clockedCount > 0)
    if mustEnqueue { delivery.observe(livingObservers()) }
    if delivery.observed != nil {
      watched(payload, completion, &delivery) { delivery in
        if let first = unsafe table.first { unsafe walk(payload, first, 0, isWhole: true, &delivery) }
      }
    } else if let first = unsafe table.first {
      unsafe walk(payload, first, 0, isWhole: true, &delivery)
    }
    if mustEnqueue {
      if !delivery.isStopped { note(delivery.substitute?.borrowed ?? payload, from: completion?.sender) }
      reportIfUnhandled(payload, delivery)
    }
    if isAwaited, let completion { endDelivery(of: completion, delivery.report) }
  }

  var hasDeliveryHooks: Bool {
    unsafe rareStateReference.lend()?._withUnsafeGuaranteedRef { $0.hasDeliveryHooks } ?? false
  }

  @inline(never) func deliverWithHooks(_ payload: BorrowedPayload, _ completion: Completion?) -> Bool {
    let rareState = rareState
    if let make = unsafe rareState.replayValue.make, let value = make(payload) {
      unsafe rareState.replayValue.value = consume value
    }
    guard let keyIndex = unsafe rareState.keyIndex else { return false }
    let isAwaited = completion?.isAwaited ?? false
    let delivery = unsafe deliver(
      payload, to: keyIndex.lookup.table(for: payload), isAwaited: isAwaited, sender: completion?.sender, completion)
    if isAwaited, let completion { endDelivery(of: completion, delivery.report) }
    return true
  }

  /// Only a walk over all handlers (`isWhole`) can open the fast path.
  func walk(
    _ payload: BorrowedPayload, _ start: PriorityBucket.Pointer, _ index: Int, isWhole: Bool,
    _ delivery: inout Delivery
  ) {
    let depth = unsafe DeliveryDepth.ofThread
    unsafe depth.pointee += 1
    defer { unsafe depth.pointee -= 1 }
    let before = withAnchor { $0.changes.load(ordering: .acquiring) }
    var needed = isWhole ? PathNeeded.fast : .slow
    var payload = payload
    var next: PriorityBucket.Pointer? = unsafe start
    var from = index
    while let bucket = unsafe next {
      let count = unsafe Int(bucket.pointee.count)
      for i in from..<max(from, count) {
        let path = unsafe visit(bucket.pointee.slots + i, payload, &delivery)
        if path.rawValue > needed.rawValue { needed = path }
        if delivery.forLaterHandlers != .same {
          if delivery.isStopped {
            unsafe skip(from: bucket, i + 1, &delivery)
            return unregisterDead()
          }
          payload = delivery.payloadForLater(payload)
          needed = .slow
        }
      }
      from = 0
      unsafe next = unsafe bucket.pointee.next
    }
    unregisterDead()
    withAnchor { anchor in
      if needed != .slow { unsafe anchor.postFastPathEpoch = before }
      if needed == .fast { unsafe anchor.fastPathEpoch = before }
    }
  }
}
