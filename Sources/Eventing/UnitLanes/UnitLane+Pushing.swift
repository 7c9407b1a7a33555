import Synchronization

// The methods that enqueue an occurrence: as a unit of its own, or as part of a batch.

extension UnitLane {
  /// Enqueues an occurrence. Isolation: core.
  @usableFromInline func take(_ payload: BorrowedPayload, _ tally: inout DeliveryTally) {
    let completion = tally.completionForLane()
    if modifiers.batch == nil ? push(payload, completion) : gather(payload, completion) { tally.taken &+= 1 }
  }

  /// Enqueues a post on the fast path: see ``SerialLane/takePost(_:)``. Isolation: core.
  func takePost(_ payload: BorrowedPayload) {
    let completion = CarriedContext.isCarrying ? Completion(.post) : nil
    if batchLimit == 0 {
      if completion == nil, isUnbounded { pushAlone(payload) } else { _ = push(payload, completion) }
    } else if completion != nil || !addToBatch(payload) {
      _ = gather(payload, completion)
    }
  }

  /// Appends a payload to the batch that still gathers payloads, if nothing else has to be done.
  ///
  /// This is the fast path of ``gather(_:_:)``. It applies if nothing waits for the payload, no
  /// payload can be dropped, and the batch neither begins nor becomes full. Isolation: core.
  ///
  /// - Returns: Whether the batch took the payload.
  private func addToBatch(_ payload: BorrowedPayload) -> Bool {
    guard hasFreeBatches else { return false }
    scheduler.mutex.lock()
    defer { scheduler.mutex.unlock() }
    // Safe: `gathering` retains the batch until the mutex is released.
    guard unsafe !isEnding, let batch = unsafe gatheringReference else { return false }
    return unsafe batch._withUnsafeGuaranteedRef { batch in
      let count = unsafe batch.count &+ 1
      guard count < batchLimit else { return false }
      unsafe batch.gathered?.append(UnitHeader(completion: nil), payload)
      unsafe batch.count = count
      unsafe waitingPayloads &+= 1
      return true
    }
  }

  /// Enqueues an occurrence for which nothing waits, on a lane without a bound. Isolation: core.
  private func pushAlone(_ payload: BorrowedPayload) {
    let unit = makeUnit(payload, nil)
    var ended: [LaneUnit] = []
    scheduler.mutex.lock()
    add(unit)
    scheduler.append(unit)
    unsafe waitingPayloads &+= 1
    refillSpareUnits()
    let start = scheduler.mayStart ? scheduler.takeStart(&ended) : nil
    scheduler.mutex.unlock()
    if let start { run(start) }
  }

  /// The work of a push that remains after the unlock.
  private struct Effects: ~Copyable {
    var isDropped = false
    /// An occurrence that waited, and was dropped to make room, with the node that its completion
    /// waits for.
    var dropped: (completion: Completion?, node: WaitNode)?
    var droppedPayload: OwnedPayload?
    var ended: [LaneUnit] = []
    /// The unit that was dropped as a whole.
    var droppedUnit: LaneUnit?
    /// Whether more units than the one in `start` may begin.
    var mayStartMore = false
    var detached: [DetachedUnit] = []
    var start: UnitScheduler.Start?
    /// The timers to cancel: those of the batches that this push has put into the queue.
    var timers: [UnitTimer] = []
    /// The unit that the new one replaces, if the handler restarts, and the running attempt of the
    /// replaced unit, if there is one.
    var replaced: (unit: LaneUnit, attempt: CancellableAttempt?)?
  }

  /// Enqueues an occurrence as a unit. If there is no room, drops the occurrence and returns false.
  /// Isolation: core.
  private func push(_ payload: BorrowedPayload, _ completion: Completion?) -> Bool {
    let unit = makeUnit(payload, completion)
    if let completion, completion.isAwaited { completion.expect(unit) }
    var effects = Effects()
    scheduler.mutex.lock()
    makeRoom(completion, &effects)
    if !effects.isDropped {
      add(unit)
      scheduler.append(unit)
      unsafe waitingPayloads += 1
      if modifiers.isRestarting, let current = unsafe current {
        unsafe current.isReplaced = true
        effects.replaced = unsafe (current, current.attempt)
      }
    }
    complete(&effects, completion)
    refillSpareUnits()
    scheduler.mutex.unlock()
    return finish(effects, completion, at: unit, unit.key)
  }

  /// Returns a unit for an occurrence: a spare one, if there is one and the occurrence has no
  /// completion. Isolation: core.
  private func makeUnit(_ payload: BorrowedPayload, _ completion: Completion?) -> LaneUnit {
    let key = keys?.key(of: payload, on: scheduler)
    guard completion == nil, let unit = unsafe spareUnits.popLast() else {
      return LaneUnit(self, key, OwnedPayload(copying: payload, layout), completion)
    }
    unit.refill(key, payload)
    return unit
  }

  /// Adds an occurrence to a batch. If there is no room, drops the occurrence and returns false.
  /// Isolation: core.
  private func gather(_ payload: BorrowedPayload, _ completion: Completion?) -> Bool {
    let key = keys?.key(of: payload, on: scheduler)
    if let completion, completion.isAwaited { completion.expect(key ?? self) }
    var effects = Effects()
    var timed: LaneUnit?
    scheduler.mutex.lock()
    makeRoom(completion, &effects)
    if !effects.isDropped, let rule = modifiers.batch {
      let open = unsafe key.map { unsafe $0.gathering } ?? gathering
      let batch = open ?? LaneUnit(gatheringFor: self, key, capacity: min(unsafe lastBatchCount, OverloadControl.limit))
      unsafe batch.gathered?.append(UnitHeader(completion: completion), payload)
      if completion?.isBound == true { unsafe batch.isBound = true }
      unsafe batch.count += 1
      unsafe waitingPayloads += 1
      if open == nil {
        add(batch)
        setGathering(batch, key)
        if batchQueue == nil { close(batch, &effects) } else { timed = noteOpen(batch) }
      }
      if unsafe batch.count >= rule.count + (mutant(.batchIsTooLarge) ? 1 : 0) {
        setGathering(nil, key)
        close(batch, &effects)
      }
      // A full lane has no room for more payloads, so its batches must not wait for more.
      if buffering.isBounded, buffering.isFull(waiting: unsafe waitingPayloads) {
        closeBatches(&effects.timers)
        effects.mayStartMore = true
      }
      if unsafe isEnding || batch.stage != .gathering { timed = nil }
      if unsafe isEnding { close(batch, &effects) }
    }
    complete(&effects, completion)
    scheduler.mutex.unlock()
    if let timed { startTimer(of: timed) }
    return finish(effects, completion, at: key ?? self, key)
  }

  /// Puts a batch into the queue. The caller holds `scheduler.mutex`.
  private func close(_ batch: LaneUnit, _ effects: inout Effects) {
    if let timer = enqueue(batch) { effects.timers.append(timer) }
  }

  /// Runs a turn on its slot, in a new block or task. But a turn of a synchronous handler for the
  /// main actor runs at once if the event delivers on the main queue and the handler takes no
  /// batches. Isolation: core.
  private func run(_ start: UnitScheduler.Start) {
    // If `anchor.core` is `nil`, this thread releases the last reference to the event. Such a
    // thread runs no handlers.
    if mayRunHere, Scheduling.isOnMainQueue, anchor.core != nil {
      scheduler.runHere(start)
    } else {
      scheduler.run(start)
    }
  }

  /// Runs a turn on its slot. A call of a `.task` handler for a `send` is a child task of the
  /// sender.
  private func begin(_ start: UnitScheduler.Start, _ completion: Completion?) {
    guard case .task(let priority) = record.place, let completion, completion.purpose == .send,
      let unit = start.turn.unit, unsafe unit.completions.first === completion
    else { return run(start) }
    scheduler.register(start)
    // The sender may have deferred the call while the key was not free: it does not wait for the
    // call. Then the call must not be a child task of the sender, because a task waits for its
    // children.
    let isAdopted = completion.adoptUnlessDeferred(unit.node, priority: priority) {
      await self.scheduler.runAsChild(unit, on: start.slot)
    }
    if !isAdopted { scheduler.run(start.turn, on: start.slot) }
  }

  private func setGathering(_ batch: LaneUnit?, _ key: UnitKey?) {
    if let key { unsafe key.gathering = batch } else { unsafe gathering = batch }
  }

  /// Adds a batch to `openBatches`, and returns it. If the array has grown long, first removes the
  /// batches that gather no longer. The caller holds `scheduler.mutex`.
  private func noteOpen(_ batch: LaneUnit) -> LaneUnit {
    if unsafe openBatches.count > 64 + 2 * liveCount { unsafe openBatches.removeAll { unsafe $0.stage != .gathering } }
    unsafe openBatches.append(batch)
    return batch
  }

  /// Starts the timer at whose end a batch is enqueued. Never called under a mutex.
  private func startTimer(of batch: LaneUnit) {
    guard let queue = batchQueue, let within = modifiers.batch?.within else { return }
    let timer = UnitTimer(queue, delaying: [batch, batch.node]) {
      // `enqueue(_:)` returns the timer that its caller must cancel. Here that is this timer, which
      // has just fired, so the result is ignored. It is `nil` if the batch gathers no longer.
      _ = batch.lane.scheduler.mutex.withLock { batch.lane.enqueue(batch) }
      batch.lane.scheduler.startUnits()
    }
    let isNeeded = scheduler.mutex.withLock { () -> Bool in
      guard unsafe batch.stage == .gathering else { return false }
      unsafe batch.timer = timer
      return true
    }
    if isNeeded { timer.start(after: within) }
  }

  /// Gives a new unit its number (`turn`) in the order of the lane, and appends the unit to
  /// `units`. The caller holds `scheduler.mutex`.
  private func add(_ unit: LaneUnit) {
    unsafe lastTurn += 1
    unsafe unit.turn = unsafe lastTurn
    unsafe units.append(unit)
    unsafe liveCount += 1
  }

  /// If there is no room for one more occurrence, drops the oldest one, or notes in `effects` that
  /// the new one is dropped. The caller holds `scheduler.mutex`.
  private func makeRoom(_ completion: Completion?, _ effects: inout Effects) {
    switch buffering.decision(waiting: unsafe waitingPayloads, completion) {
    case .keep: break
    case .dropIt: effects.isDropped = true
    case .dropOldest: dropOldest(&effects)
    }
  }

  private func dropOldest(_ effects: inout Effects) {
    guard
      let oldest = unsafe units.first(
        from: { unsafe $0.turn >= oldestTurn },
        where: { unsafe ($0.stage == .waiting || $0.stage == .gathering) && $0.attempts == 0 })
    else { return }
    unsafe oldestTurn = unsafe oldest.turn
    if unsafe oldest.count > 1, let header = unsafe oldest.gathered?.takeFirst() {
      effects.dropped = (header.completion, oldest.node)
      effects.droppedPayload = unsafe oldest.gathered?.ownedPayloadOfTaken()
      unsafe oldest.count -= 1
      unsafe waitingPayloads -= 1
      oldest.key?.uses.wrappingSubtract(1, ordering: .releasing)
    } else {
      let completion = unsafe oldest.gathered == nil ? oldest.completions.first : oldest.gathered?[0].completion
      effects.dropped = (completion, oldest.node)
      endEarly(oldest, &effects.ended)
      scheduler.noteEnded(&effects.ended)
      oldest.key?.noteEnded(&effects.ended)
      effects.droppedUnit = oldest
    }
  }

  /// Notes in `effects` what remains to do after the unlock. If the lane is paused, the calls that
  /// wait must be reported as held, so that their waiters go on. If a turn can start, this thread
  /// must start it. The caller holds `scheduler.mutex`.
  private func complete(_ effects: inout Effects, _ completion: Completion?) {
    if unsafe isPaused, completion?.isToBeTold == true { effects.detached = detachWaiters() }
    effects.start = scheduler.takeStart(&effects.ended)
  }

  /// Carries out the effects of a push. Returns whether the occurrence was taken. Never called
  /// under a mutex.
  private func finish(
    _ effects: consuming Effects, _ completion: Completion?, at node: WaitNode, _ key: UnitKey?
  ) -> Bool {
    if let unit = effects.droppedUnit {
      unit.clear()
      unit.arriveBarriers()
    }
    for timer in effects.timers { timer.cancel() }  // cancelled first: the next line may start a batch
    if let start = effects.start { begin(start, completion) }
    if effects.mayStartMore { scheduler.startUnits() }
    release(effects.detached)
    if let replaced = effects.replaced {
      // Cancellation handlers are the user's code, and must not delay this thread, which goes on
      // delivering. So a block on the global queue cancels the attempt.
      if let attempt = replaced.attempt { Scheduling.concurrentBlock { attempt.cancel() } }
      // Ends the delay of the replaced unit only: the new unit may be between two attempts by now.
      delays?.end(of: replaced.unit)
    }
    if let dropped = effects.dropped { conclude(.dropped, dropped.completion, at: dropped.node) }
    guard effects.isDropped else { return true }
    key?.uses.wrappingSubtract(1, ordering: .releasing)
    conclude(.dropped, completion, at: node)
    return false
  }
}

extension Buffering {
  /// Whether no further occurrence fits, unless another one is dropped.
  func isFull(waiting: Int) -> Bool { decision(waiting: waiting, isSend: false) != .keep }
}
