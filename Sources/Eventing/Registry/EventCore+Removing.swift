import Synchronization

// A handler's life ends in three phases.
//
// 1. *Deactivate* (`HandlerRecord.deactivate`): one atomic step on any thread, effective
//    immediately. No call is claimed afterwards.
// 2. *Unregister* (`unregister(_:)`): the slot is removed, along with the closure that the fast
//    path calls. Only the thread inside the core does this.
// 3. *Retire* (`retire(_:)`): the lane ends once it has dealt with its remaining items, and
//    releases the closure that its calls run.
extension EventCore {
  // MARK: From any thread

  @usableFromInline func remove(_ record: HandlerRecord) -> Bool {
    let own = enter()
    if own != 0 {
      let isMine = record.deactivate()
      if isMine {
        unregister(record)
      } else if unsafe record.index >= 0 {
        // Another thread deactivated the handler and may not have called `noteChange()` yet.
        withAnchor { $0.invalidateFastPath() }
      }
      leave(own)
      // A once handler counts as ended from its first attempt on but may be in the delay before the
      // next one.
      if !isMine { record.details?.delays?.end() }
      return isMine
    }
    let isMine = record.deactivate()
    record.details?.delays?.end()
    // Called even if another thread has deactivated the handler, because that thread may not have
    // called `noteChange()` yet.
    withAnchor { $0.noteChange() }
    guard isMine else { return false }
    enqueueUnregistration(CollectionOfOne(record))
    return true
  }

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
    // Called even if this thread has deactivated no handler, because the thread that did may not
    // have called it yet.
    anchorReference.load()?.noteChange()
    requestUnregistration(deactivated)
    return count
  }

  func requestUnregistration(_ record: HandlerRecord) {
    requestUnregistration(CollectionOfOne(record))
  }

  func requestUnregistration(_ records: some Collection<HandlerRecord>) {
    guard !records.isEmpty else { return }
    let own = enter()
    guard own != 0 else { return enqueueUnregistration(records) }
    for record in records { unregister(record) }
    leave(own)
  }

  @inline(never) func enqueueUnregistration(_ records: some Collection<HandlerRecord>) {
    let mustSlowDown = enqueue { rareState in
      for record in records { unsafe rareState.mailbox.unregistering.append((record, Thread.current)) }
      return unsafe rareState.mailbox.unregistering.count > OverloadControl.changeLimit
    }
    if mustSlowDown { OverloadControl.slowDown() }
  }

  /// The end must be enqueued when this returns. Each call enqueues one, because another thread
  /// that has set `isFinished` may not have enqueued its own yet.
  func finish() {
    mutex.withLock { unsafe isFinished = true }
    announceReadiness(isFinished: true)
    cancelLaterPosts()
    if enqueue(.finish) { OverloadControl.slowDown() }
  }

  // MARK: Unregister
  // Isolation: core.

  @inline(never) func unregister(_ record: HandlerRecord) {
    // Its lane is retiring, or it's still in the mailbox and will be discarded.
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

  private func takeSlot(of details: DetailedRecord) -> HandlerSlot {
    let retiring = retire(details)
    let rareState = retiring == nil ? nil : rareState
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
    if details.options.wantsPrior { unsafe self.rareState.priorHandlerCount -= 1 }
    if unsafe table.deadCount > 0 { withAnchor { $0.invalidateFastPath() } }
    if let retiring, let rareState {
      // While its lane still has items, the handler can be found in `retiringTargets`.
      unsafe details.retiringIndex = unsafe Int32(rareState.retiringTargets.count)
      unsafe rareState.retiringTargets.append(retiring)
      details.countOtherSkips(slot.skipped.load(ordering: .relaxed))
    }
    mutex.unlock()
    if let keyTable { dropIfEmpty(keyTable) }
    if details.has(HandlerFlags.hasHoldingBuffer) { dropHoldingBuffer(of: details, isRetiring: retiring != nil) }
    return slot
  }

  /// The slot is in use until the delivery ends.
  func noteDead(_ record: HandlerRecord) {
    guard unsafe record.index >= 0, !mutant(.usedUpHandlerStays) || !record.has(HandlerFlags.spent) else { return }
    if unsafe firstDead == nil {
      unsafe firstDead = .passUnretained(record)
    } else {
      unsafe rareState.deadRecords.append(record)
    }
  }

  @inline(__always) func unregisterDead() {
    if let record = unsafe firstDead {
      unsafe firstDead = nil
      unsafe record._withUnsafeGuaranteedRef { unregister($0) }
      unregisterOtherDead()
    }
    if unsafe table.deadCount > 0 { compact() }
  }

  @inline(never) func unregisterOtherDead() {
    guard let rareState = rareStateReference.load(), unsafe !rareState.deadRecords.isEmpty else { return }
    while let record = unsafe rareState.deadRecords.popLast() { unregister(record) }
    if unsafe rareState.deadRecords.capacity > 2 * OverloadControl.limit { unsafe rareState.deadRecords = [] }
  }

  @inline(never) func compact() {
    mutex.lock()
    unsafe table.compact()
    mutex.unlock()
  }

  func dropIfEmpty(_ keyTable: KeyTable) {
    guard unsafe keyTable.table.count == 0, let keyIndex = unsafe rareState.keyIndex else { return }
    mutex.lock()
    keyIndex.unlink(keyTable)
    mutex.unlock()
    keyIndex.lookup.forget(keyTable)
  }

  func finishTable() {
    var records: [HandlerRecord] = []
    unsafe forEachSlot { slot in unsafe records.append(slot.pointee.record) }
    guard let rareState = rareStateReference.load() else { return records.forEach(unregister) }
    if unsafe rareState.keyIndex != nil { records = records.sortedUnspecialized(by: HandlerRecord.isCalledBefore) }
    for record in records { unregister(record) }
    for lane in unsafe rareState.retiringTargets { lane.endDelays() }
    rareState.unhandledReference.load()?.event.finish()
  }

  // MARK: Retire
  // Isolation: core.

  /// Releases the user's closures and objects, so never called under the mutex.
  private func retire(_ details: DetailedRecord) -> DeliveryTarget? {
    // A poll reads the route and the key under the mutex. Both are released after unlocking.
    mutex.lock()
    let (route, key) = unsafe (details.route, details.key)
    unsafe (details.route, details.key) = (nil, nil)
    mutex.unlock()
    withExtendedLifetime(key) {}
    unsafe details.queueWithoutOwner = nil
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

  /// The caller is inside the core or is the only one that knows the handler.
  func retire(_ record: HandlerRecord) {
    if let details = record.details { _ = retire(details) } else { record.set(HandlerFlags.removed) }
  }

  func finishRetiring(_ record: HandlerRecord) {
    guard let details = record.details, unsafe details.retiringIndex >= 0,
      let rareState = rareStateReference.load()
    else { return }
    let at = unsafe Int(details.retiringIndex)
    let lane = unsafe rareState.retiringTargets[at]
    guard lane.counters.isOver else {
      // The event had already ended, or the worker had claimed a call but not yet begun it.
      if record.has(HandlerFlags.ended) { lane.abandon() }
      return
    }
    mutex.lock()
    unsafe rareState.retiringTargets.swapAt(at, rareState.retiringTargets.count - 1)
    let ended = unsafe rareState.retiringTargets.popLast()
    if unsafe at < rareState.retiringTargets.count {
      unsafe rareState.retiringTargets[at].record.retiringIndex = Int32(at)
    }
    unsafe details.retiringIndex = -1
    if unsafe rareState.retiringTargets.isEmpty { unsafe rareState.retiringTargets = [] }
    mutex.unlock()
    if record.has(HandlerFlags.hasHoldingBuffer) { dropHoldingBuffer(of: record) }
    withAnchor { $0.forgetFailures(of: record) }
    withExtendedLifetime(ended) {}  // releasing the lane may run user code, so not under the mutex
  }
}

// A handler whose owner or key is gone must be unregistered even if nothing is ever sent, so each
// addition checks two handlers. All of them have been checked after half as many additions as there
// are handlers. If keys are objects, every eighth search for an object's handlers also checks two.
// `quiesce()` checks the handlers of all keys.
// Isolation: core.
extension EventCore {
  func sweepOwners() {
    for _ in 0..<2 {
      if let record = mutex.withLock({ unsafe table.nextToSweep() }) { unregisterIfGone(record) }
    }
  }

  func sweepKeys() {
    guard let index = unsafe rareState.keyIndex else { return }
    for _ in 0..<2 {
      if let (record, keyTable) = index.nextToSweep(mutex) { unregisterIfGone(record, keyTable, index) }
    }
  }

  func sweepAllKeys() {
    guard let index = unsafe rareStateReference.load()?.keyIndex else { return }
    var found: [(record: HandlerRecord, keyTable: KeyTable)] = []
    for keyTable in unsafe index.tables {
      unsafe keyTable.table.forEachSlot { slot in
        if unsafe slot.pointee.record.index >= 0 { unsafe found.append((slot.pointee.record, keyTable)) }
      }
    }
    for (record, keyTable) in found { unregisterIfGone(record, keyTable, index) }
  }

  /// May run a user's `deinit`, so it's never called under a mutex.
  private func unregisterIfGone(_ record: HandlerRecord, _ keyTable: KeyTable? = nil, _ index: KeyIndex? = nil) {
    let isReachable = if let keyTable, let index { index.lookup.isReachable(keyTable) } else { true }
    guard !isReachable || record.hasLostOwner else { return }
    record.set(HandlerFlags.removed)
    unregister(record)
  }
}
