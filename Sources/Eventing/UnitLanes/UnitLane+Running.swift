import Synchronization

// The run of a unit whose turn has come: its attempts, and its outcome.

/// The result of a unit's run.
enum UnitResult: Sendable {
  case ended(HandlerOutcome)
  /// Another attempt follows after a delay.
  case delayed(Duration)
  /// A lock holds the unit.
  case held
}

extension UnitLane {
  /// Returns whether a unit whose turn has come may begin. If a lock of the handler has paused the
  /// lane, keeps the unit in `held` until the lock ends. If another unit of its key is active,
  /// keeps the unit in the key's `parked` until the active one has ended. The caller holds
  /// `scheduler.mutex`.
  func mayBegin(_ unit: LaneUnit) -> Bool {
    let isDelayed = unsafe unit.stage == .delayed
    if unsafe isPaused, !isDelayed {
      unsafe held.append(unit)
      return false
    }
    if let key = unit.key, !isDelayed {
      if unsafe key.isActive, !mutant(.keysOverlap) {
        unsafe key.parked.append(unit)
        return false
      }
      unsafe key.isActive = true
    }
    unsafe unit.stage = .running
    if unsafe !isDelayed && unit.attempts == 0 { unsafe waitingPayloads -= unit.count }
    if batchLimit > 0 {
      unsafe lastBatchCount = unsafe unit.count
      if unsafe gathering === unit { unsafe gathering = nil }
      if unsafe unit.key?.gathering === unit { unsafe unit.key?.gathering = nil }
    }
    if modifiers.isRestarting { unsafe current = unit }
    return true
  }

  /// Notes the slot of a unit. The caller is about to run the unit there.
  private func begin(_ unit: LaneUnit, _ slot: ExecutionSlot) {
    unit.slot.set(slot)
    unit.key?.slot.set(slot)
  }

  /// Makes one payload of the payloads that a batch has gathered. This happens once, after the
  /// first attempt of the batch has been claimed. Until then the payloads stay separate, because a
  /// lock may hold them and a bound may drop some of them.
  private func makeBatch(_ unit: LaneUnit) {
    guard let rule = modifiers.batch, var gathered = unsafe unit.gathered.take() else { return }
    for i in 0..<gathered.count {
      guard let completion = gathered[i].completion else { continue }
      if completion.isAwaited { completion.moveOutstanding(of: unit.key ?? self, on: unit) }
      unsafe unit.completions.append(completion)
    }
    unsafe unit.payload = rule.make(&gathered)
  }

  /// Returns the payload of a unit whose attempt has been claimed.
  private func payload(_ unit: LaneUnit) -> BorrowedPayload? {
    makeBatch(unit)
    return unsafe unit.payload?.borrowed
  }

  /// Claims the call of a unit, if the slot can make that call without ``run(_:_:on:)``.
  ///
  /// The caller then calls the closure itself, from the drain of the slot. ``run(_:_:on:)`` would
  /// call the closure through several asynchronous functions. Each of these functions allocates a
  /// frame, and checks whether it runs on its executor.
  ///
  /// - Returns: The closure and its payload. `nil` if ``run(_:_:on:)`` has to run the unit, because
  ///   ``isDirect`` is false, the closure is not a `directAsync` one, the claim was refused, or the
  ///   call must bind task-local values or be reported to observers.
  @inline(__always) func beginDirect(_ unit: LaneUnit, _ slot: ExecutionSlot) -> (ErasedAsyncHandler, BorrowedPayload)?
  {
    guard isDirect, unsafe !unit.isBound, case .directAsync(let direct) = unsafe body?.body else { return nil }
    begin(unit, slot)
    guard record.claim() else { return nil }
    calls.wrappingAdd(unsafe unit.count, ordering: .relaxed)
    unsafe unit.attempts = 1
    makeBatch(unit)
    guard let payload = unsafe unit.payload?.borrowed else { preconditionFailure("a unit has a payload until it ends") }
    return (direct, payload)
  }

  // MARK: Attempts

  /// Runs a unit of an asynchronous handler, until it ends or must wait.
  func run(_ unit: LaneUnit, _ slot: ExecutionSlot, on place: isolated (any Actor)?) async -> UnitResult {
    begin(unit, slot)
    while true {
      if isReplaced(unit) { return .ended(.dropped) }
      if let result = next(unit, await makeAttempt(unit, on: place)) { return result }
    }
  }

  /// Runs a unit of a synchronous handler, until it ends or must wait.
  func runNow(_ unit: LaneUnit, _ slot: ExecutionSlot) -> UnitResult {
    begin(unit, slot)
    while true {
      if isReplaced(unit) { return .ended(.dropped) }
      let attempt: UnitAttempt
      if modifiers.batch == nil, let context = unsafe unit.completions.first?.context {
        attempt = context.run { attemptNow(unit) }
      } else {
        attempt = attemptNow(unit)
      }
      if let result = next(unit, attempt) { return result }
    }
  }

  /// Whether a newer occurrence has taken the place of a unit.
  private func isReplaced(_ unit: LaneUnit) -> Bool {
    modifiers.isRestarting && scheduler.mutex.withLock { unsafe unit.isReplaced }
  }

  /// Claims an attempt of a unit. The first attempt counts the call.
  private func claimAttempt(_ unit: LaneUnit, _ owner: inout (any AnyObject & Sendable)?) -> Bool {
    if unsafe unit.attempts == 0 {
      guard claimed(&owner) else { return false }
      calls.wrappingAdd(unsafe unit.count, ordering: .relaxed)
    } else {
      if let box = record.options.owner {
        owner = box.object
        if owner == nil { _ = anchor.remove(record) }
      }
      // No second claim: the first attempt of a once handler has used up the handler.
      let isGivenUp = unit.isGivenUp.load(ordering: .acquiring)
      guard !isGivenUp, !record.has(HandlerFlags.removed | HandlerFlags.lockedAtAll) else { return false }
    }
    unsafe unit.attempts += 1
    attempt.store(unsafe unit.attempts, ordering: .relaxed)
    return true
  }

  private func attemptNow(_ unit: LaneUnit) -> UnitAttempt {
    guard let cell = newCell(for: unit) else { return attemptNow(unit, nil) }
    return CallCell.$current.withValue(cell) { attemptNow(unit, cell) }
  }

  private func attemptNow(_ unit: LaneUnit, _ cell: CallCell?) -> UnitAttempt {
    var owner: (any AnyObject & Sendable)?
    guard let body = unsafe body, claimAttempt(unit, &owner), let payload = payload(unit) else { return .refused }
    let observed = began(unit, cell)
    do {
      try callDetailed(payload, owner, body)
      return UnitAttempt(.returned, observed)
    } catch {
      return UnitAttempt(.threw(error), observed)
    }
  }

  private func makeAttempt(_ unit: LaneUnit, on place: isolated (any Actor)?) async -> UnitAttempt {
    if limitQueue != nil || modifiers.isRestarting { return await attemptInTask(unit, on: place) }
    return await attemptHere(unit, on: place)
  }

  private func attemptHere(_ unit: LaneUnit, on place: isolated (any Actor)?) async -> UnitAttempt {
    guard modifiers.batch == nil, let context = unsafe unit.completions.first?.context else {
      return await attemptNow(unit, on: place)
    }
    return await context.run(on: place) {
      _ = place
      return await attemptNow(unit, on: place)
    }
  }

  private func attemptNow(_ unit: LaneUnit, on place: isolated (any Actor)?) async -> UnitAttempt {
    guard let cell = newCell(for: unit) else { return await attemptNow(unit, nil, on: place) }
    return await CallCell.$current.withValue(cell) {
      _ = place
      return await attemptNow(unit, cell, on: place)
    }
  }

  private func attemptNow(
    _ unit: LaneUnit, _ cell: CallCell?, on place: isolated (any Actor)?
  ) async -> UnitAttempt {
    var owner: (any AnyObject & Sendable)?
    guard let body = unsafe body, claimAttempt(unit, &owner), let payload = payload(unit) else { return .refused }
    let observed = began(unit, cell)
    do {
      switch body.body {
      case .directAsync(let body): try await body(payload, on: place)
      case .async(let body): try await body(HandlerArguments(payload, owner))
      case .mainAsync(let body): try await body(HandlerArguments(payload, owner))
      default: preconditionFailure("a task runs asynchronous handlers only")
      }
      return UnitAttempt(.returned, observed)
    } catch {
      return UnitAttempt(.threw(error), observed)
    }
  }

  /// Makes an attempt in a task of its own, which a time limit or a newer occurrence cancels.
  private func attemptInTask(_ unit: LaneUnit, on place: isolated (any Actor)?) async -> UnitAttempt {
    let attempt = CancellableAttempt()
    let isReplaced = scheduler.mutex.withLock { () -> Bool in
      unsafe unit.attempt = attempt
      return unsafe unit.isReplaced
    }
    if isReplaced { attempt.cancel() }
    let timer = limitQueue.map { queue in
      UnitTimer(queue) {
        attempt.isLate.publish(true)
        Scheduling.concurrentBlock { attempt.cancel() }  // the user's cancellation handlers must not delay the timer
      }
    }
    if let timer, let limit = modifiers.timeLimit { timer.start(after: limit.duration) }
    let task = Scheduling.innerTask(on: scheduler.executor) { await self.attemptHere(unit, on: place) }
    attempt.set(task)
    let result = await withTaskCancellationHandler {
      await task.value
    } onCancel: {
      attempt.cancel()
    }
    timer?.cancel()
    scheduler.mutex.withLock { unsafe unit.attempt = nil }
    guard attempt.isLate.load(ordering: .acquiring), let limit = modifiers.timeLimit else { return result }
    if case .refused = result.end { return result }
    return UnitAttempt(.threw(limit.error), result.observed)
  }

  /// Returns a ``CallCell`` for an attempt; `nil` if no occurrence of the unit is traced.
  private func newCell(for unit: LaneUnit) -> CallCell? {
    for i in unsafe 0..<(unit.gathered?.count ?? 0) {
      if let completion = unsafe unit.gathered?[i].completion, unsafe completion.observed?.cell != nil {
        return CallCell()
      }
    }
    return unsafe unit.completions.contains { unsafe $0.observed?.cell != nil } ? CallCell() : nil
  }

  /// Tells the observers of the unit's occurrences that an attempt begins.
  ///
  /// - Parameter cell: Names the attempt as the cause of what the handler sends; `nil` if no
  ///   occurrence of the unit is traced. A batch has several occurrences, and for each traced one a
  ///   call is reported. Afterwards the cell has the number of the last of these calls.
  private func began(_ unit: LaneUnit, _ cell: CallCell?) -> [UnitAttempt.Observed] {
    if unsafe unit.completions.isEmpty { return [] }
    var isFurther = false
    return unsafe unit.completions.compactMap { completion in
      guard var observed = unsafe completion.observed else { return nil }
      if let cell, observed.cell != nil { observed.cell = cell }
      defer { isFurther = true }
      return UnitAttempt.Observed(
        occurrence: observed, call: observed.began(HandlerToken(record, anchor), on: self, isFurther: isFurther))
    }
  }

  /// Tells the observers of the unit's occurrences that an attempt has ended, and how.
  ///
  /// Called when the end is decided, and not where the handler returns: a time limit or a newer
  /// occurrence may have the last word. So observers, reports and counts say the same.
  private func tellEnd(of attempt: UnitAttempt, of unit: LaneUnit, isReplaced: Bool) {
    for observed in attempt.observed.reversed() {
      let token = HandlerToken(record, anchor)
      if isReplaced {
        unsafe unit.isDropTold = true
        observed.occurrence.dropped(observed.call, of: token)
      } else if case .threw(let error) = attempt.end {
        observed.occurrence.ended(observed.call, of: token, error)
      } else {
        observed.occurrence.ended(observed.call, of: token, nil)
      }
    }
  }

  // MARK: After an attempt

  /// Returns the result of a unit's run; `nil` if another attempt follows at once.
  private func next(_ unit: LaneUnit, _ attempt: UnitAttempt) -> UnitResult? {
    let isReplaced = isReplaced(unit)
    if !attempt.observed.isEmpty { tellEnd(of: attempt, of: unit, isReplaced: isReplaced) }
    if isReplaced { return .ended(.dropped) }
    switch attempt.end {
    case .returned: return .ended(.delivered)
    case .refused:
      switch refused(unit) {
      case .retry: return nil
      case .pause: return .held
      case .skip:
        guard let error = unsafe unit.lastError else { return .ended(.skipped) }
        return .ended(failure(error, unit))
      }
    case .threw(let error):
      guard let retry = modifiers.retry, unsafe !unit.isLastAttempt, !unit.isGivenUp.load(ordering: .acquiring),
        retry.tries(error, after: unsafe unit.attempts)
      else { return .ended(failure(error, unit)) }
      unsafe unit.lastError = error
      let endsDelays = scheduler.mutex.withLock { unsafe self.endsDelays }
      if endsDelays { unsafe unit.isLastAttempt = true }
      let delay = endsDelays ? .zero : retry.policy.delay(after: unsafe unit.attempts)
      return delay > .zero ? .delayed(delay) : nil
    }
  }
}
