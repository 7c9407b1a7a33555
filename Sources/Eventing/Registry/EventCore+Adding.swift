import Synchronization

extension EventCore {
  // MARK: From any thread

  /// Occurrences sent after this returns reach all of the handlers; occurrences sent before the
  /// call reach none.
  @inline(never) func add(_ handlers: ContiguousArray<PendingHandler>) {
    let own = enter()
    guard own != 0 else { return enqueue(handlers) }
    let isGroup = handlers.count > 8
    var sorted: KeyTable?
    for handler in handlers {
      let keyTable = keyTable(for: handler.record)
      if isGroup, keyTable !== sorted { sortGroup(in: sorted) }
      sorted = keyTable
      insert(handler, keyTable, inGroup: isGroup)
    }
    if isGroup { sortGroup(in: sorted) }
    leave(own)
  }

  @inline(never) func add(_ handler: PendingHandler) {
    let own = enter()
    guard own != 0 else { return enqueue([handler]) }
    insert(handler, keyTable(for: handler.record))
    leave(own)
  }

  @usableFromInline func addInline(once: Bool, _ source: SourceLine, _ body: ErasedHandler) -> HandlerToken {
    let anchor = anchor  // created first, as the handler may be called as soon as it is added
    if Instruments.areOn { Instruments.joined(anchor, hasHandler: true) }
    let record = HandlerRecord(once ? HandlerFlags.once : 0, source)
    let own = enter()
    if own != 0 {
      insertInline(body, record)
      leave(own)
    } else {
      enqueue([PendingHandler(body, record)])
    }
    return HandlerToken(record, anchor)
  }

  @inline(never) func enqueue(_ handlers: ContiguousArray<PendingHandler>) {
    var isLate = false
    let mustSlowDown = enqueue { rareState in
      isLate = unsafe isFinished
      if isLate { return false }
      unsafe rareState.mailbox.append(handlers)
      return unsafe rareState.mailbox.newHandlers.count > OverloadControl.changeLimit
    }
    if isLate { for handler in handlers { discard(handler.record) } }
    if mustSlowDown { OverloadControl.slowDown() }
  }

  // MARK: Inside the core

  func join(_ count: Int) {
    let rareState = rareState
    let isGroup = count > 8
    var sorted: KeyTable?
    for _ in 0..<count {
      let keyTable =
        unsafe rareState.keyIndex == nil
        ? nil : keyTable(for: mutex.withLock { unsafe rareState.mailbox.nextRecord })
      if isGroup, keyTable !== sorted { sortGroup(in: sorted) }
      sorted = keyTable
      mutex.lock()
      let handler = unsafe rareState.mailbox.takeNewHandler()
      if !handler.record.has(HandlerFlags.ended), !mutant(.queuedAddIsLost) {
        register(handler, keyTable, inGroup: isGroup)
      }
      mutex.unlock()
      if unsafe handler.record.index < 0 { discard(handler.record, keyTable) } else { welcome(handler.record) }
    }
    if isGroup { sortGroup(in: sorted) }
  }

  private func sortGroup(in keyTable: KeyTable?) {
    mutex.lock()
    if let keyTable { unsafe keyTable.table.sortGroup() } else { unsafe table.sortGroup() }
    mutex.unlock()
  }

  func insert(_ handler: PendingHandler, _ keyTable: KeyTable?, inGroup: Bool = false) {
    mutex.lock()
    let isLate = unsafe isFinished
    if !isLate { register(handler, keyTable, inGroup: inGroup) }
    mutex.unlock()
    if isLate { discard(handler.record, keyTable) } else { welcome(handler.record) }
  }

  @inline(never) func insertInline(_ body: ErasedHandler, _ record: HandlerRecord) {
    mutex.lock()
    if unsafe isFinished || isEventLocked {
      mutex.unlock()
      return insert(PendingHandler(body, record), nil)
    }
    record.offeredBefore.store(sequence, ordering: .relaxed)
    unsafe table.append(body, record, priority: 0)
    mutex.unlock()
    if record.has(HandlerFlags.once) { withAnchor { $0.invalidateFastPath() } }
    if hasOwners { sweepOwners() }
  }

  /// The caller holds `mutex`.
  func register(_ handler: PendingHandler, _ keyTable: KeyTable?, inGroup: Bool = false) {
    let record = handler.record
    if unsafe isEventLocked, !mutant(.newHandlerIsNotLocked) { applyEventLock(to: record) }
    record.offeredBefore.store(offered(to: keyTable), ordering: .relaxed)
    let options = record.details?.options
    if let options {
      if options.isClocked { unsafe clockedCount += 1 }
      if options.isInterceptor { unsafe rareStateReference.load()?.history?.mayChange = true }
      if options.wantsPrior { unsafe rareState.priorHandlerCount += 1 }
      if options.owner != nil { hasOwners = true }
    }
    if let keyTable {
      unsafe record.details?.keyTable = keyTable
      unsafe rareState.keyIndex?.link(keyTable)
      unsafe keyTable.table.append(handler.body, record, priority: options?.priority ?? 0, inGroup: inGroup)
    } else {
      unsafe table.append(handler.body, record, priority: options?.priority ?? 0, inGroup: inGroup)
    }
    if record.has(HandlerFlags.slowPathMask) {
      withAnchor { $0.invalidateFastPath() }
      unsafe keyTable?.fastPathEpoch = 0
    }
  }

  /// Never called under the mutex, because it hashes the key.
  func keyTable(for record: HandlerRecord) -> KeyTable? {
    guard let key = unsafe record.details?.key else { return nil }
    return unsafe rareState.keyIndex?.lookup.find(key)
  }

  func welcome(_ record: HandlerRecord) {
    reportHandler(record, isAdded: true)
    if let details = record.details, details.options.wantsReplayValue, let value = replayValue {
      deliver(value.borrowed, to: details, sequence: sequence, from: nil)
    }
    if let history = rareStateReference.load()?.history {
      for _ in 0..<(mutant(.replayComesTwice) ? 2 : 1) { replay(history, to: record) }
    }
    if hasOwners { sweepOwners() }
    if unsafe rareStateReference.load()?.keyIndex != nil { sweepKeys() }
    announceReadiness()
  }

  func deliver(
    _ payload: BorrowedPayload, to record: HandlerRecord, sequence: UInt64, from sender: (any AnyObject & Sendable)?
  ) {
    guard let slot = unsafe slot(of: record) else { return }
    // A snapshot computes the number of calls as occurrences minus `offeredBefore`, and this
    // payload isn't counted as an occurrence.
    record.offeredBefore.store(record.offeredBefore.load(ordering: .relaxed) &- 1, ordering: .relaxed)
    var delivery = unsafe Delivery(
      payload, sequence: sequence, isAwaited: false, sender: sender, completion: nil, path: nil,
      isClocked: clockedCount > 0)
    delivery.observed = observed(sequence)
    delivery.isReplay = true
    // A full buffer that suspends senders would drop a payload that no sender waits for, but must
    // accept past ones.
    delivery.isLateSend = record.details?.place.buffering.suspendsSender ?? false
    unsafe visitAlone(slot, payload, &delivery)
    unregisterDead()
  }

  /// The handler was never in a table. The caller is inside the core or is the only one that knows
  /// the handler.
  func discard(_ record: HandlerRecord, _ keyTable: KeyTable? = nil) {
    record.set(HandlerFlags.removed)
    retire(record)
    if record.has(HandlerFlags.hasHoldingBuffer) { dropHoldingBuffer(of: record) }
    if let keyTable { dropIfEmpty(keyTable) }
  }
}

extension EventCore {
  func pendingHandler(_ handler: AnyHandler, _ anchor: EventAnchor) -> PendingHandler {
    var flags = handler.isOnce ? HandlerFlags.once : 0
    if handler.options.sharedClaim != nil { flags |= HandlerFlags.sharesClaim }
    if handler.options.owner == nil, handler.options.key == nil, handler.options.modifierBox == nil,
      case .inline = handler.place, case .direct(let body) = handler.body
    {
      if handler.options.isEmpty { return PendingHandler(body, HandlerRecord(flags, handler.source)) }
      // The remaining options, such as a name, don't affect calls, so the handler stays on the fast
      // path.
      return PendingHandler(body, DetailedRecord(flags, handler.options, handler.place, handler.source))
    }
    return detailedPendingHandler(handler, flags, anchor)
  }

  private func detailedPendingHandler(
    _ handler: AnyHandler, _ flags: UInt32, _ anchor: EventAnchor
  ) -> PendingHandler {
    var options = handler.options
    let key = options.key
    options.key = nil
    // Modifiers contain the user's closures and clocks. They go into the route, which is released
    // when the handler is retired, rather than into the record, which tokens retain.
    let modifiers = options.modifierBox?.modifiers
    options.modifierBox = nil
    if case .inline = handler.place, case .direct(let body) = handler.body, modifiers == nil {
      let needsSlowPath = handler.options.owner == nil ? 0 : HandlerFlags.needsSlowPath
      let record = DetailedRecord(flags | needsSlowPath, options, handler.place, handler.source)
      unsafe record.key = key
      guard let owner = options.owner, !handler.isOnce else { return PendingHandler(body, record) }
      unsafe record.hasPostBody = true
      return PendingHandler(
        .of(
          { payload in
            guard let object = owner.object else { throw SlotSignal.decide }
            try withExtendedLifetime(object) { try body(payload) }
          }, handler.type), record)
    }
    let record = DetailedRecord(
      flags | HandlerFlags.needsSlowPath, options, handler.place, handler.source, isRetried: modifiers?.retry != nil)
    unsafe record.key = key
    var slotBody = ErasedHandler.none
    if case .view(let view, _) = handler.body {
      unsafe record.view = view
      let record = unsafe Unmanaged.passUnretained(record)  // the slot retains it
      slotBody = view.counting(handler.type) { unsafe record._withUnsafeGuaranteedRef { $0.countOtherSkips(1) } }
    }
    let route = HandlerRoute(handler.body, handler.type, record, anchor, modifiers)
    unsafe record.route = route
    if !handler.isOnce, let body = route.postBody(options.owner, handler.type, in: self) {
      unsafe record.hasPostBody = true
      slotBody = body
    }
    if handler.options.owner == nil {
      if case .lane(let queue) = route { unsafe record.queueWithoutOwner = .passUnretained(queue) }
      if case .sequence(let sink) = route { unsafe record.plainSequence = .passUnretained(sink) }
    }
    return PendingHandler(slotBody, record)
  }
}
