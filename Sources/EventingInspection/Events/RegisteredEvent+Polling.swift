import Eventing
import Synchronization

extension RegisteredEvent {
  /// Returns whether the event exists.
  ///
  /// Takes the core's mutex. If handlers may have changed, walks over them under it, and after the
  /// unlock takes the mutex of each lane. An idle event costs about as much as reading two cache
  /// lines.
  ///
  /// - Parameter isWhole: Read the handlers in any case. The release of an owner is the only change
  ///   that nothing shows.
  func poll(into reading: EventReading, isWhole: Bool) -> Bool {
    guard let core = anchor.core else { return false }
    let state = core.stateWord.load(ordering: .relaxed)
    let rareState = core.rareStateReference.load()
    var shape = EventReading.Shape(changes: anchor.changes.load(ordering: .acquiring))
    shape.isBusy = state & ~CoreState.flags != 0
    core.mutex.lock()
    // The sequence number is read under the mutex. A drain notes, under this mutex, how many
    // occurrences it takes, and the sequence number before them. So the number read here is not
    // smaller than the noted one.
    let sequence = core.sequence
    (shape.count, shape.deadCount) = (core.table.count, core.table.deadCount)
    (reading.isLocked, reading.isFinished) = (core.isEventLocked, core.isFinished)
    // Occurrences that a drain has taken out of the mailbox do not count: they slow no post down.
    reading.isOverloaded = (rareState?.mailbox.occurrenceCount ?? 0) > OverloadControl.limit
    var waiting = 0
    if let rareState {
      waiting = rareState.mailbox.occurrenceCount + rareState.drained.left(at: sequence)
      shape.newCount = rareState.mailbox.newHandlerCount
      reading.hasKeys = rareState.keyIndex != nil
    }
    let mustRead = isWhole || reading.isRestless || shape != reading.shape || sequence != reading.sequence
    if mustRead { core.find(reading, rareState) }
    core.mutex.unlock()
    (reading.sequence, reading.waiting, reading.isBusy, reading.shape) = (sequence, waiting, shape.isBusy, shape)
    reading.hasReadHandlers = mustRead
    if mustRead { readHandlers(reading, rareState) }
    readChildren(reading, core)
    return true
  }

  private func readHandlers(_ reading: EventReading, _ rareState: RareState?) {
    let before = reading.handlers
    reading.handlers.removeAll(keepingCapacity: true)
    var isRestless = reading.hasKeys
    var living = 0
    for (index, found) in reading.found.enumerated() {
      let record = found.record
      let known = index < before.count && before[index].record === record ? before[index] : nil
      var handler = HandlerReading(record: record, keyBox: found.key, lane: known?.lane)
      let flags = record.state.load(ordering: .acquiring)
      if let owner = record.details?.options.owner { handler.owner = owner.isAlive ? .alive : .gone }
      let isOver = flags & HandlerFlags.ended != 0
      handler.isLocked = flags & HandlerFlags.lockedByCaller != 0
      handler.held = found.held
      if let target = found.target {
        if known?.lane == nil { handler.lane = LaneNumbers.number(of: target) }
        let counters = target.counters
        let running = counters.runningCalls
        // `ended` is read before `calls`. So a call that begins between these two reads is counted
        // as running.
        handler.ended = counters.endedCalls
        handler.calls = counters.calls.load(ordering: .acquiring)
        handler.skipped = found.skipped + counters.skipped.load(ordering: .acquiring)
        handler.dropped = counters.dropped.load(ordering: .acquiring)
        let buffering = target.record.place.buffering
        handler.replaces =
          counters.keepsOnlyTheNewest || target is Pacer && (!buffering.isBounded || buffering == .paced)
        handler.waiting = target.waitingCount
        if running == nil { handler.ended = handler.calls }
        let begun = max(0, handler.calls - handler.ended)
        handler.running = begun
        handler.oldestCall = begun > 0 ? running?.oldest ?? 0 : 0
        if begun > 0, let member = counters as? LaneQueue { member.leaveDelaysOut(of: &handler) }
        isRestless =
          isRestless || begun > 0 || handler.waiting > 0 || known?.calls != handler.calls || target is Pacer
        if isOver, begun == 0, handler.waiting == 0 { continue }
      } else {
        if isOver { continue }
        let offered = found.offered &- record.offeredBefore.load(ordering: .relaxed)
        handler.skipped = found.skipped
        handler.calls = max(0, Int(truncatingIfNeeded: offered) - found.skipped - found.held)
        handler.ended = handler.calls
      }
      if !isOver, handler.owner != .gone { living += 1 }
      reading.handlers.append(handler)
    }
    // Read after `ended`, so that a call that failed does not look as if it had succeeded.
    if let failures = anchor.failureReference.load() {
      let counts = failures.counts
      for index in reading.handlers.indices { reading.handlers[index].failed = counts[reading.handlers[index].id] ?? 0 }
    }
    reading.found.removeAll(keepingCapacity: true)  // after the unlock: this may release records, keys and lanes
    (reading.handlerCount, reading.isRestless) = (living, isRestless)
  }

  private func readChildren(_ reading: EventReading, _ core: EventCore) {
    let unheard = core.unheardCore
    reading.unheard = unheard?.sequence
    reading.children = (unheard?.anchor.number ?? 0, anchor.failureReference.load()?.eventNumber ?? 0)
  }
}

extension EventCore {
  /// With the counters that can only be read under the mutex. The caller holds `mutex`.
  fileprivate func find(_ reading: EventReading, _ rareState: RareState?) {
    func held(_ record: HandlerRecord) -> Int {
      guard record.has(HandlerFlags.hasHoldingBuffer), let rareState else { return 0 }
      return rareState.holding.count(for: record)
    }
    unsafe forEachSlot { slot in
      let record = unsafe slot.pointee.record
      guard record.index >= 0 else { return }
      let details = record.details
      let skipped = unsafe slot.pointee.skipped.load(ordering: .relaxed)
      reading.found.append(
        EventReading.Found(
          record: record, key: details?.key, target: record.target,
          skipped: skipped + (details?.otherSkips.load(ordering: .relaxed) ?? 0), held: held(record),
          offered: offered(to: details?.keyTable)))
    }
    guard let rareState else { return }
    for lane in rareState.retiringTargets {
      reading.found.append(
        EventReading.Found(
          record: lane.record, key: nil, target: lane, skipped: lane.record.otherSkips.load(ordering: .relaxed),
          held: held(lane.record), offered: 0))
    }
  }
}

extension LaneQueue {
  /// Calls that wait for their next attempt were counted as running.
  fileprivate func leaveDelaysOut(of handler: inout HandlerReading) {
    guard isRetried, let all = handler.running else { return }
    let (delayed, oldest) = delaysAndOldestCall
    handler.running = max(0, all - delayed)
    // Each attempt of the only call is a new one: several of them, one after another, are not
    // stuck. With other calls, `attempt` may be that of another call.
    let number = UInt64(all == 1 ? attempt.load(ordering: .relaxed) : 0)
    handler.oldestCall = handler.running == 0 ? 0 : oldest << 16 | number & 0xFFFF
  }
}
