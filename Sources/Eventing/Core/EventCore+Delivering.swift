public import Synchronization

// How one occurrence reaches all handlers. The thread stays inside the core until the delivery
// ends. So the table does not change meanwhile: changes come after the occurrence.
//
// The fast path calls the closure of one slot after the other, with the payload alone. It opens
// after a walk over all handlers in which each could be called that way. It closes when the state
// of a handler changes. `EventAnchor.changes` counts such changes, and `fastPathEpoch` is its value
// before that walk. The two are compared before every call. So the fast path reads neither the
// records nor any memory that posters write. At the first difference or error the slow path goes
// on, which reads each record.
//
// For posts, more handlers need no slow path: for instance handlers on a lane that have no owner,
// and unbounded sequences. The closure of their slot enqueues the payload. For sends these handlers
// need the slow path: the report counts the outcome of each handler. So posts have an epoch of
// their own, `postFastPathEpoch`.

/// The place where the fast path ended, and the slow path goes on.
@safe @usableFromInline struct DeliveryCursor {
  @usableFromInline let bucket: PriorityBucket.Pointer
  @usableFromInline let slot: UnsafeMutablePointer<HandlerSlot>
  /// The error that the closure of the slot threw; `nil` if the fast path was closed before the
  /// call of this closure.
  @usableFromInline let error: (any Error)?

  @inlinable init(_ bucket: PriorityBucket.Pointer, _ slot: UnsafeMutablePointer<HandlerSlot>, _ error: (any Error)?) {
    unsafe self.bucket = unsafe bucket
    unsafe self.slot = unsafe slot
    self.error = error
  }

  /// The index of the slot in its bucket.
  var index: Int { unsafe slot - bucket.pointee.slots }
}

/// The occurrences for which a handler needs the slow path.
@usableFromInline enum PathNeeded: UInt8 {
  /// The handler never needs the slow path. To deliver a send or a post, it is enough to call the
  /// slot's closure.
  case fast
  /// The handler needs the slow path for each send. To deliver a post, it is enough to call the
  /// slot's closure.
  case slowForSends
  /// The handler needs the slow path for each occurrence: for each send and for each post.
  case slow
}

extension EventCore {
  // MARK: Fast path

  /// Delivers one occurrence on the fast path, until a handler needs the slow path. Isolation:
  /// core.
  ///
  /// - Parameter known: The anchor, if the caller has it.
  /// - Returns: The place where the slow path goes on; `nil` if all handlers have been called.
  @inlinable @inline(__always) func deliver(
    _ payload: BorrowedPayload, isPost: Bool, _ known: Unmanaged<EventAnchor>? = nil
  ) -> DeliveryCursor? {
    sequence &+= 1
    guard let first = unsafe table.first else { return nil }
    // Safe: there is a handler, so there is an anchor, and the core retains it.
    let anchor = unsafe known ?? anchorReference.lend().unsafelyUnwrapped
    return unsafe callEach(payload, from: first, anchor) { unsafe isPost ? $0.postFastPathEpoch : $0.fastPathEpoch }
  }

  /// Calls one handler after the other, as long as the counter of changes has the value (the epoch)
  /// for which the fast path was opened. Isolation: core.
  ///
  /// - Parameter epoch: A closure that returns the epoch to compare `changes` with.
  /// - Returns: The place where the slow path goes on; `nil` if all handlers have been called.
  @inlinable @inline(__always) func callEach(
    _ payload: BorrowedPayload, from first: PriorityBucket.Pointer, _ anchor: Unmanaged<EventAnchor>,
    epoch: (EventAnchor) -> UInt64
  ) -> DeliveryCursor? {
    var bucket = unsafe first
    while true {
      // Counts up to zero, so that one addition moves to the next slot and shows whether a slot is
      // left.
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

  /// The anchor, if there is one and the delivery of a post only calls handlers; `nil` if a
  /// delivery must also tell observers, keep a history or a replay value, or look up a key.
  /// Isolation: core.
  ///
  /// The drain reads the anchor once for several occurrences, because contending threads write to
  /// the cache line of `anchorReference`.
  var plainAnchor: Unmanaged<EventAnchor>? {
    unsafe mustEnqueue || hasDeliveryHooks ? nil : anchorReference.lend()
  }

  /// Delivers an enqueued post that has no completion. Isolation: core.
  func deliverPost(_ payload: BorrowedPayload, _ anchor: Unmanaged<EventAnchor>) {
    guard let cursor = unsafe deliver(payload, isPost: true, anchor) else { return }
    _ = unsafe deliverSlowPath(payload, from: cursor, isAwaited: false, sender: nil)
  }

  // MARK: Slow path

  /// Delivers an occurrence to the handlers that the fast path did not reach. Isolation: core.
  ///
  /// - Parameter first: The first bucket of the table whose handlers the fast path called; `nil`
  ///   for the core's own table.
  @inline(never) func deliverSlowPath(
    _ payload: BorrowedPayload, from cursor: DeliveryCursor, isAwaited: Bool, sender: (any AnyObject & Sendable)?,
    first: PriorityBucket.Pointer? = nil
  ) -> Delivery {
    var tally = unsafe Delivery(
      payload, sequence: sequence, isAwaited: isAwaited, sender: sender, completion: nil, path: nil,
      isClocked: clockedCount > 0)
    var from = cursor.index
    var called = from
    var earlier = unsafe first ?? table.first
    while let bucket = unsafe earlier, unsafe bucket != cursor.bucket {
      unsafe called += Int(bucket.pointee.count)
      unsafe earlier = unsafe bucket.pointee.next
    }
    tally.report.delivered = called
    switch cursor.error {
    case nil, SlotSignal.decide?: break
    case SlotSignal.intercepted(let decision)?:
      tally.report.delivered += 1
      tally.apply(decision)
      from += 1
    case let error?:
      unsafe tally.fail(cursor.bucket.pointee.slots[from].record, anchor, error)
      from += 1
    }
    if tally.isStopped {
      unsafe skip(from: cursor.bucket, from, &tally)
      unregisterDead()
      return tally
    }
    let payload = tally.payloadForLater(payload)
    unsafe walk(payload, cursor.bucket, from, isWhole: called == 0 && from == 0, &tally)
    return tally
  }

  /// Delivers an occurrence that was enqueued, submitted or forwarded, or that changes a value.
  /// Isolation: core.
  func deliverQueued(_ payload: BorrowedPayload, _ completion: Completion?) {
    if let context = completion?.context {
      within(context) { deliverOccurrence(payload, completion) }
    } else {
      deliverOccurrence(payload, completion)
    }
  }

  /// Runs a closure with the task-local values of a sender.
  @inline(never) func within(_ context: CarriedContext, _ deliver: () -> Void) {
    context.run(deliver)
  }

  /// Delivers an occurrence to every handler. Isolation: core.
  func deliverOccurrence(_ payload: BorrowedPayload, _ completion: Completion?) {
    if hasDeliveryHooks, deliverWithHooks(payload, completion) { return }
    if completion == nil, !mustEnqueue, let anchor = unsafe anchorReference.lend() {
      return unsafe deliverPost(payload, anchor)
    }
    sequence &+= 1
    let isAwaited = completion?.isAwaited ?? false
    var tally = unsafe Delivery(
      payload, sequence: sequence, isAwaited: isAwaited, sender: completion?.sender, completion: completion,
      path: completion?.path, isClocked: clockedCount > 0)
    if mustEnqueue { tally.observe(livingObservers()) }
    if tally.observed != nil {
      watched(payload, completion, &tally) { tally in
        if let first = unsafe table.first { unsafe walk(payload, first, 0, isWhole: true, &tally) }
      }
    } else if let first = unsafe table.first {
      unsafe walk(payload, first, 0, isWhole: true, &tally)
    }
    if mustEnqueue {
      if !tally.isStopped { note(tally.substitute?.borrowed ?? payload, from: completion?.sender) }
      reportIfUnhandled(payload, tally)
    }
    if isAwaited, let completion { endDelivery(of: completion, tally.report) }
  }

  /// Whether a delivery must keep a replay value, or look up a key. Isolation: core.
  var hasDeliveryHooks: Bool {
    unsafe pendingWorkReference.lend()?._withUnsafeGuaranteedRef { $0.hasDeliveryHooks } ?? false
  }

  /// Updates the replay value that new handlers receive: the last value of an ``Observed``.
  /// Delivers the occurrence if the event is keyed. Isolation: core.
  ///
  /// - Returns: Whether it delivered the occurrence.
  @inline(never) func deliverWithHooks(_ payload: BorrowedPayload, _ completion: Completion?) -> Bool {
    let pendingWork = pendingWork
    if let make = unsafe pendingWork.replayValue.make, let value = make(payload) {
      unsafe pendingWork.replayValue.value = consume value
    }
    guard let keyIndex = unsafe pendingWork.keyIndex else { return false }
    let isAwaited = completion?.isAwaited ?? false
    let tally = unsafe deliver(
      payload, to: keyIndex.lookup.table(for: payload), isAwaited: isAwaited, sender: completion?.sender, completion)
    if isAwaited, let completion { endDelivery(of: completion, tally.report) }
    return true
  }

  /// Visits the slots of a bucket from an index on, and those of all later buckets.
  /// Isolation: core.
  ///
  /// - Parameter isWhole: Whether the walk visits all handlers. Only such a walk opens the fast
  ///   path.
  func walk(
    _ payload: BorrowedPayload, _ start: PriorityBucket.Pointer, _ index: Int, isWhole: Bool,
    _ tally: inout Delivery
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
        let path = unsafe visit(bucket.pointee.slots + i, payload, &tally)
        if path.rawValue > needed.rawValue { needed = path }
        if tally.forLaterHandlers != .same {
          if tally.isStopped {
            unsafe skip(from: bucket, i + 1, &tally)
            return unregisterDead()
          }
          payload = tally.payloadForLater(payload)
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
