import Synchronization

// The end of a handler's life has three phases.
//
// 1. *Deactivate* (`HandlerRecord.deactivate`): one atomic step, on any thread, effective at once.
//    No call is claimed after it.
// 2. *Unregister* (`unregister(_:)`): the slot goes, with the closure that the fast path calls.
//    Only the thread inside the core does this.
// 3. *Retire* (`retire(_:)`): the lane ends after the items that it holds, and releases the closure
//    that its calls run.
extension EventCore {
  // MARK: From any thread

  /// Deactivates and unregisters a handler. Returns false if the handler had ended before.
  @usableFromInline func remove(_ record: HandlerRecord) -> Bool {
    let own = enter()
    if own != 0 {
      let isMine = record.deactivate()
      if isMine {
        unregister(record)
      } else if unsafe record.index >= 0 {
        // Another thread deactivated the handler, and may not have called `noteChange()` yet.
        withAnchor { $0.invalidateFastPath() }
      }
      leave(own)
      // A once handler counts as ended from its first attempt on, so `isMine` is false for it. But
      // the handler may now be in the delay before its next attempt. The next line ends that delay.
      if !isMine { record.details?.delays?.end() }
      return isMine
    }
    let isMine = record.deactivate()
    record.details?.delays?.end()
    // Called even if another thread has deactivated the handler: that thread may not have called
    // `noteChange()` yet.
    withAnchor { $0.noteChange() }
    guard isMine else { return false }
    enqueueUnregistration(CollectionOfOne(record))
    return true
  }

  /// Removes all handlers that match.
  ///
  /// - Returns: The number of removed handlers, without those whose owner was gone.
  func removeAll(where isIncluded: (HandlerFilter.Candidate) -> Bool) -> Int {
    var count = 0
    let deactivated = records(orBetweenAttempts: true, where: isIncluded).filter { record in
      let wasAlive = isAlive(record)
      let isMine = record.deactivate()
      record.details?.delays?.end()
      guard isMine else { return false }
      if wasAlive { count += 1 }
      return true
    }
    // `noteChange()` is called even if this thread has deactivated no handler. Another thread that
    // has deactivated one of these handlers may not have called `noteChange()` yet.
    anchorReference.load()?.noteChange()
    requestUnregistration(deactivated)
    return count
  }

  /// Unregisters a deactivated handler: at once or, if the event is busy, in a drain.
  func requestUnregistration(_ record: HandlerRecord) {
    requestUnregistration(CollectionOfOne(record))
  }

  /// Unregisters deactivated handlers: at once or, if the event is busy, in a drain.
  func requestUnregistration(_ records: some Collection<HandlerRecord>) {
    guard !records.isEmpty else { return }
    let own = enter()
    guard own != 0 else { return enqueueUnregistration(records) }
    for record in records { unregister(record) }
    leave(own)
  }

  @inline(never) func enqueueUnregistration(_ records: some Collection<HandlerRecord>) {
    let mustSlowDown = enqueue { pendingWork in
      for record in records { unsafe pendingWork.mailbox.unregistering.append((record, Thread.current)) }
      return unsafe pendingWork.mailbox.unregistering.count > OverloadControl.changeLimit
    }
    if mustSlowDown { OverloadControl.slowDown() }
  }

  /// Enqueues the end of the event. When a call returns, the end must have been enqueued. So each
  /// call enqueues an end, even if another thread has set `isFinished` before: that thread may not
  /// have enqueued its end yet.
  func finish() {
    mutex.withLock { unsafe isFinished = true }
    announceReadiness(isFinished: true)
    cancelLaterPosts()
    if enqueue(.finish) { OverloadControl.slowDown() }
  }

  // MARK: Unregister

  /// Removes a handler from its table, and retires its lane. The handler was deactivated, or its
  /// event ends. If other slots follow the handler's slot, a dead slot without a closure stays
  /// there until the table is compacted. Isolation: core.
  @inline(never) func unregister(_ record: HandlerRecord) {
    // A handler without a slot has a lane that retires, or is still in the mailbox and will be
    // discarded.
    guard unsafe record.index >= 0 else { return finishRetiring(record) }
    reportHandler(record, isAdded: false)
    let slot: HandlerSlot
    var isRetiring = false
    if let details = record.details {
      slot = takeSlot(of: details)
      isRetiring = unsafe details.retiringIndex >= 0
    } else {
      record.set(HandlerFlags.removed)
      mutex.lock()
      slot = unsafe table.remove(record, priority: 0)
      if unsafe table.deadCount > 0 { withAnchor { $0.invalidateFastPath() } }
      mutex.unlock()
      if record.has(HandlerFlags.hasHoldingBuffer) { dropHoldingBuffer(of: record) }
    }
    if !isRetiring { withAnchor { $0.forgetFailures(of: record) } }
    _ = consume slot  // releasing the closure may run user code, so not under the mutex
  }

  /// Removes the slot of a handler from its table, and retires its lane. Isolation: core.
  private func takeSlot(of details: DetailedRecord) -> HandlerSlot {
    let retiring = retire(details)
    let pendingWork = retiring == nil ? nil : pendingWork
    let priority = details.options.priority
    mutex.lock()
    let keyTable = unsafe details.keyTable
    let slot: HandlerSlot
    if let keyTable {
      slot = unsafe keyTable.table.remove(details, priority: priority)
      unsafe details.keyTable = nil
    } else {
      slot = unsafe table.remove(details, priority: priority)
    }
    if details.options.isClocked { unsafe clockedCount -= 1 }
    if details.options.wantsPrior { unsafe self.pendingWork.priorHandlerCount -= 1 }
    if unsafe table.deadCount > 0 { withAnchor { $0.invalidateFastPath() } }
    if let retiring, let pendingWork {
      // While the lane holds items, inspecting, locking and removing find the handler in
      // `retiringLanes`.
      unsafe details.retiringIndex = unsafe Int32(pendingWork.retiringLanes.count)
      unsafe pendingWork.retiringLanes.append(retiring)
      details.countOtherSkips(slot.skipped.load(ordering: .relaxed))
    }
    mutex.unlock()
    if let keyTable { dropIfEmpty(keyTable) }
    if details.has(HandlerFlags.hasHoldingBuffer) { dropHoldingBuffer(of: details, isRetiring: retiring != nil) }
    return slot
  }

  /// Records a handler that the current occurrence found dead, to unregister it when the delivery
  /// ends: until then its slot is in use. Isolation: core.
  func noteDead(_ record: HandlerRecord) {
    guard unsafe record.index >= 0, !mutant(.usedUpHandlerStays) || !record.has(HandlerFlags.spent) else { return }
    if unsafe firstDead == nil {
      unsafe firstDead = .passUnretained(record)
    } else {
      unsafe pendingWork.deadRecords.append(record)
    }
  }

  /// Unregisters the handlers that an occurrence found dead, and closes the gaps. Isolation: core.
  @inline(__always) func unregisterDead() {
    if let record = unsafe firstDead {
      unsafe firstDead = nil
      unsafe record._withUnsafeGuaranteedRef { unregister($0) }
      unregisterOtherDead()
    }
    if unsafe table.deadCount > 0 { compact() }
  }

  @inline(never) func unregisterOtherDead() {
    guard let pendingWork = pendingWorkReference.load(), unsafe !pendingWork.deadRecords.isEmpty else { return }
    while let record = unsafe pendingWork.deadRecords.popLast() { unregister(record) }
    if unsafe pendingWork.deadRecords.capacity > 2 * OverloadControl.limit { unsafe pendingWork.deadRecords = [] }
  }

  /// Closes the gaps in the table. Isolation: core.
  @inline(never) func compact() {
    mutex.lock()
    unsafe table.compact()
    mutex.unlock()
  }

  /// Drops the table of a key that has no handlers. Isolation: core.
  func dropIfEmpty(_ keyTable: KeyTable) {
    guard unsafe keyTable.table.count == 0, let keyIndex = unsafe pendingWork.keyIndex else { return }
    mutex.lock()
    keyIndex.unlink(keyTable)
    mutex.unlock()
    keyIndex.lookup.forget(keyTable)
  }

  /// Unregisters all handlers, because the event ends. All occurrences that were sent before
  /// ``finish()`` have been delivered. Lanes end after the items that they hold. Isolation: core.
  func finishTable() {
    var records: [HandlerRecord] = []
    unsafe forEachSlot { slot in unsafe records.append(slot.pointee.record) }
    guard let pendingWork = pendingWorkReference.load() else { return records.forEach(unregister) }
    if unsafe pendingWork.keyIndex != nil { records = records.sortedUnspecialized(by: HandlerRecord.isCalledBefore) }
    for record in records { unregister(record) }
    for lane in unsafe pendingWork.retiringLanes { lane.endDelays() }
    pendingWork.unhandledReference.load()?.finish()
  }

  // MARK: Retire

  /// Ends the lane of a handler, and releases the user's closures and objects. If the lane still
  /// holds items, it ends after them, and this method does not wait for that. Never called under
  /// the mutex. Isolation: core.
  ///
  /// - Returns: The lane, if it still holds items.
  private func retire(_ details: DetailedRecord) -> DeliveryTarget? {
    // A poll reads the route and the key under the mutex. Both are released after the unlock.
    mutex.lock()
    let (route, key) = unsafe (details.route, details.key)
    unsafe (details.route, details.key) = (nil, nil)
    mutex.unlock()
    withExtendedLifetime(key) {}
    unsafe details.plainMember = nil
    unsafe details.plainSequence = nil
    unsafe details.view = nil
    guard let lane = route?.target else {
      details.set(HandlerFlags.removed)
      return nil
    }
    if lane.finish() { return nil }
    if details.has(HandlerFlags.ended) { lane.abandon() }
    return lane
  }

  /// Retires a handler that has no slot. The caller is inside the core, or is the only thread that
  /// knows the handler.
  func retire(_ record: HandlerRecord) {
    if let details = record.details { _ = retire(details) } else { record.set(HandlerFlags.removed) }
  }

  /// Drops the retiring lane of a handler, if the lane has run its last call. Isolation: core.
  func finishRetiring(_ record: HandlerRecord) {
    guard let details = record.details, unsafe details.retiringIndex >= 0,
      let pendingWork = pendingWorkReference.load()
    else { return }
    let at = unsafe Int(details.retiringIndex)
    let lane = unsafe pendingWork.retiringLanes[at]
    guard lane.counters.isOver else {
      // The handler has ended since: the event ended before, or the worker had not begun the call
      // that it had claimed.
      if record.has(HandlerFlags.ended) { lane.abandon() }
      return
    }
    mutex.lock()
    unsafe pendingWork.retiringLanes.swapAt(at, pendingWork.retiringLanes.count - 1)
    let ended = unsafe pendingWork.retiringLanes.popLast()
    if unsafe at < pendingWork.retiringLanes.count {
      unsafe pendingWork.retiringLanes[at].record.retiringIndex = Int32(at)
    }
    unsafe details.retiringIndex = -1
    if unsafe pendingWork.retiringLanes.isEmpty { unsafe pendingWork.retiringLanes = [] }
    mutex.unlock()
    if record.has(HandlerFlags.hasHoldingBuffer) { dropHoldingBuffer(of: record) }
    withAnchor { $0.forgetFailures(of: record) }
    withExtendedLifetime(ended) {}  // releasing the lane may run user code, so not under the mutex
  }
}
