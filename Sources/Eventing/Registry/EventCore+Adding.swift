extension EventCore {
  // MARK: Adding

  /// Adds handlers as a group, from any thread: every occurrence sent after this reaches them all, none sent before any.
  @usableFromInline @inline(never) func add(_ newHandlers: ContiguousArray<PendingHandler>) {
    let own = enter()
    if own != 0 {
      for newHandler in newHandlers { insert(newHandler) }
      leave(own)
    } else {
      enqueueHandlers(newHandlers)
    }
  }

  /// The same for one.
  @usableFromInline @inline(never) func add(_ newHandler: PendingHandler) {
    let own = enter()
    guard own != 0 else { return enqueueHandlers([newHandler]) }
    insert(newHandler)
    leave(own)
  }

  /// The same for one that is called inline and has nothing else.
  @usableFromInline @inline(__always) func add(_ body: ErasedHandler, _ record: HandlerRecord) {
    let own = enter()
    guard own != 0 else { return enqueueHandlers([PendingHandler(body, record)]) }
    insertInline(body, record)
    leave(own)
  }

  @usableFromInline func attachInline(once: Bool, _ body: ErasedHandler) -> HandlerToken {
    let identity = identity  // there before the handler, which may be called before this returns
    let record = HandlerRecord(once ? HandlerFlags.once : 0)
    add(body, record)
    return HandlerToken(record, identity)
  }

  @usableFromInline @inline(never) func insertInline(_ body: ErasedHandler, _ record: HandlerRecord) {
    mutex.lock()
    if unsafe isFinished || isEventLocked {
      mutex.unlock()
      return insert(PendingHandler(body, record))
    }
    unsafe record.offeredBefore = unsafe sequence
    unsafe table.append(body, record, priority: 0)
    mutex.unlock()
    if record.has(HandlerFlags.once) { withIdentity { $0.invalidateFastPath() } }
    if hasOwners { sweepTwo() }
  }

  @usableFromInline @inline(never) func enqueueHandlers(_ newHandlers: ContiguousArray<PendingHandler>) {
    var isLate = false
    let mustSlowDown = queue { pendingWork in
      isLate = unsafe isFinished
      if isLate { return false }
      for newHandler in newHandlers { pendingWork.append(newHandler) }
      unsafe pendingWork.queue.append(.join(newHandlers.count, by: Thread.current))
      return unsafe pendingWork.pendingHandlers.count - pendingWork.admittedCount > OverloadControl.changeLimit
    }
    if isLate { for newHandler in newHandlers { drop(newHandler.record) } }
    if mustSlowDown { OverloadControl.slowDown() }
  }

  /// Inside: the next queued adds.
  @usableFromInline func join(_ count: Int) {
    let pendingWork = pendingWork
    for _ in 0..<count {
      let list = unsafe pendingWork.keyIndex == nil ? nil : list(for: mutex.withLock { pendingWork.nextRecord })
      mutex.lock()
      let newHandler = pendingWork.takeNextHandler()
      if !newHandler.record.has(HandlerFlags.ended), !mutant(.queuedAddIsLost) { enrol(newHandler, list) }
      mutex.unlock()
      if unsafe newHandler.record.index < 0 { drop(newHandler.record, list) } else { welcome(newHandler.record) }
    }
  }

  /// Inside.
  @usableFromInline func insert(_ newHandler: PendingHandler) {
    let list = list(for: newHandler.record)
    mutex.lock()
    let isLate = unsafe isFinished
    if !isLate { enrol(newHandler, list) }
    mutex.unlock()
    if isLate { drop(newHandler.record, list) } else { welcome(newHandler.record) }
  }

  /// Inside: after a handler joined.
  private var currentReplayValue: OwnedPayload? {
    let pendingWork = pendingWork
    return mutex.withLock {
      unsafe pendingWork.isReplayValueCurrent ? pendingWork.makeCurrentReplayValue?() : pendingWork.replayValue?.copy()
    }
  }

  @usableFromInline func welcome(_ record: HandlerRecord) {
    tellOf(record, isAdded: true)
    if let details = record.details, details.options.wantsReplayValue, let replayValue = currentReplayValue {
      unsafe tell(details, replayValue.loan, details.options.priority, sequence: sequence, from: nil)
    }
    if let history = pendingWorkReference.load()?.history {
      for _ in 0..<(mutant(.replayComesTwice) ? 2 : 1) { replay(history, to: record) }
    }
    sweepOwners()
  }

  /// Inside: tells one handler something, which no occurrence does.
  @usableFromInline func tell(
    _ record: HandlerRecord, _ payload: BorrowedPayload, _ priority: Int, sequence: UInt64,
    from sender: (any AnyObject & Sendable)?
  ) {
    guard unsafe record.index >= 0, let bucket = unsafe table.bucket(of: priority) else { return }
    unsafe record.offeredBefore &-= 1  // it counts as a call
    var tally = unsafe DeliveryTally(
      sequence: sequence, isAwaited: false, sender: sender, completion: nil, path: nil, isClocked: clocked > 0)
    tally.observed = observed(sequence)
    _ = unsafe visit(bucket.pointee.slots + Int(record.index), payload, &tally)
    unregisterDead()
  }

  /// Inside, not under the lock: the table of a handler that listens to one key.
  @usableFromInline func list(for record: HandlerRecord) -> KeyTable? {
    guard let address = unsafe record.details?.address else { return nil }
    return unsafe pendingWork.keyIndex?.find(address)
  }

  /// Inside, under the lock.
  @usableFromInline func enrol(_ newHandler: PendingHandler, _ list: KeyTable?) {
    let record = newHandler.record
    if unsafe isEventLocked, !mutant(.newcomerIsNotGated) { applyEventLock(record) }
    unsafe record.offeredBefore = offered(to: list)
    let options = record.details?.options
    if let options {
      if options.isClocked { unsafe clocked += 1 }
      if options.wantsPrior { unsafe pendingWork.wantPrior += 1 }
      if options.owner != nil { hasOwners = true }
    }
    if let list {
      unsafe record.details?.keyTable = list
      unsafe pendingWork.keyIndex?.link(list)
      unsafe list.table.append(newHandler.body, record, priority: options?.priority ?? 0)
    } else {
      unsafe table.append(newHandler.body, record, priority: options?.priority ?? 0)
    }
    if record.has(HandlerFlags.slowPathMask) {
      withIdentity { $0.invalidateFastPath() }
      unsafe list?.fastPathEpoch = 0
    }
  }

  @usableFromInline func sweepOwners() {
    if hasOwners { sweepTwo() }
    if let orphans = unsafe pendingWorkReference.load()?.keyIndex?.sweepTwo(mutex) {
      for record in orphans {
        record.set(HandlerFlags.removed)
        unregister(record)
      }
    }
  }

  /// Ends a handler that never joined.
  @usableFromInline func drop(_ record: HandlerRecord, _ list: KeyTable? = nil) {
    record.set(HandlerFlags.removed)
    retire(record)
    if record.has(HandlerFlags.hasHoldingBuffer) { forgetHold(of: record) }
    if let list { forgetIfEmpty(list) }
  }

  /// Inside: a key without handlers leaves nothing behind.
  @usableFromInline func forgetIfEmpty(_ list: KeyTable) {
    guard unsafe list.table.count == 0, let keyIndex = unsafe pendingWork.keyIndex else { return }
    mutex.lock()
    keyIndex.unlink(list)
    mutex.unlock()
    keyIndex.forget(list)
  }

  /// Inside: two slots are looked at with every add, so that handlers of owners that went away go even if nothing is ever sent.
  @usableFromInline func sweepTwo() {
    for _ in 0..<2 {
      guard let record = mutex.withLock({ unsafe table.nextToSweep() }) else { continue }
      guard let owner = record.details?.options.owner, owner.object == nil else { continue }
      record.set(HandlerFlags.removed)
      unregister(record)
    }
  }

  // MARK: The end

  /// Queues the end of the event: each time, since whoever ends it second relies on it, too.
  @usableFromInline func finish() {
    mutex.withLock { unsafe isFinished = true }
    if enqueue(.finish) { OverloadControl.slowDown() }
  }

  /// Inside: what was sent has been delivered; lanes end after what they hold.
  @usableFromInline func finishTable() {
    var records: [HandlerRecord] = []
    unsafe forEachSlot { slot in unsafe records.append(slot.pointee.record) }
    for record in records {
      unregister(record)
    }
    pendingWorkReference.load()?.unheardReference.load()?.finish()
  }

  /// Inside: sends a completion through all lanes after what they hold.
  @usableFromInline func barrier(_ completion: Completion) {
    unsafe forEachSlot { slot in
      unsafe slot.pointee.record.details?.work?.lane?.sendBarrier(completion)
    }
    if let pendingWork = pendingWorkReference.load() {
      for lane in unsafe pendingWork.retiringLanes { lane.sendBarrier(completion) }
    }
    completion.finishDelivery(SendReport())
  }
}

extension EventCore {
  /// Makes the record of a handler.
  @usableFromInline func newHandler(_ handler: AnyHandler, _ identity: EventIdentity) -> PendingHandler {
    let once = handler.isOnce ? HandlerFlags.once : 0
    if handler.options.owner == nil, handler.options.address == nil, case .inline = handler.place,
      case .direct(let body) = handler.body
    {
      if handler.options.isEmpty { return PendingHandler(body, HandlerRecord(once)) }
      // All else that a direct handler may have costs its calls nothing.
      return PendingHandler(body, DetailedRecord(once, handler.options, handler.place))
    }
    return detailedNewHandler(handler, once, identity)
  }

  @usableFromInline func detailedNewHandler(_ handler: AnyHandler, _ once: UInt32, _ identity: EventIdentity)
    -> PendingHandler
  {
    var options = handler.options
    let address = options.address
    options.address = nil
    if case .inline = handler.place, case .direct(let body) = handler.body {
      // An owner is asked for before each call.
      let special = handler.options.owner == nil ? 0 : HandlerFlags.needsSlowPath
      let record = DetailedRecord(once | special, options, handler.place)
      unsafe record.address = address
      guard let owner = options.owner, !handler.isOnce else { return PendingHandler(body, record) }
      unsafe record.takesPosts = true
      return PendingHandler(
        .of(
          { payload in
            guard let object = owner.object else { throw SlotSignal.decide }
            try withExtendedLifetime(object) { try body(payload) }
          }, handler.type), record)
    }
    let record = DetailedRecord(once | HandlerFlags.needsSlowPath, options, handler.place)
    unsafe record.address = address
    var taking = ErasedHandler.none
    if case .view(let viewer, _) = handler.body {
      unsafe record.viewer = viewer
      let record = unsafe Unmanaged.passUnretained(record)  // the slot has it
      taking = viewer.counting(handler.type) { unsafe record._withUnsafeGuaranteedRef { unsafe $0.unheard &+= 1 } }
    }
    let work = HandlerRunner(handler.place, handler.body, handler.type, record, identity)
    unsafe record.work = work
    if !handler.isOnce, let body = work.bodyForPosts(options.owner, handler.type) {
      unsafe record.takesPosts = true
      taking = body
    }
    if handler.options.owner == nil {
      if case .serial(let lane) = work { unsafe record.plainLane = .passUnretained(lane) }
      if case .sequence(let lane) = work { unsafe record.plainSequence = .passUnretained(lane) }
    }
    return PendingHandler(taking, record)
  }
}
