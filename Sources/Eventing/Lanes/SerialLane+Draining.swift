// The drain of a lane: one block or task at a time, which works off what there is.

extension SerialLane {
  @usableFromInline @inline(never) func schedule() {
    switch record.place {
    case .queue(let queue, _): Scheduling.block(on: queue) { self.drainQueue() }
    case .background(let priority, _):
      let queue = unsafe queue ?? Scheduling.backgroundQueue(priority)
      unsafe self.queue = queue
      Scheduling.block(on: queue) { self.drainQueue() }
    case .main where executionSlot == nil: Scheduling.mainBlock { self.drainQueue() }
    case .main: Scheduling.task(priority: nil, on: executor) { await self.drainTask(on: MainActor.shared) }
    case .actor: Scheduling.task(priority: nil, on: executor) { await self.drainOnOwner() }
    case .inOrder(let priority, _): Scheduling.task(priority: priority, on: executor) { await self.drainTask(on: nil) }
    case .inline, .concurrent, .task, .sequence: preconditionFailure("\(record.place) has no serial lane")
    }
  }

  @usableFromInline func drainQueue() {
    if isMain { Scheduling.checkMain() }
    guard let body = unsafe body, isPlain, body.isDirect else { return drainDetailed() }
    // HeldOccurrence for all calls: one that is loaded for each call is retained for each.
    let direct = body.direct
    var turn = DrainQuota(isMain: isOnMainQueue)
    while let (payload, completion) = next(&turn) {
      let isBound = if let completion { completion.isBound } else { false }
      guard conclude(isBound ? callNow(payload, body, completion) : callDirect(payload, direct), payload, completion)
      else { return }
    }
  }

  @usableFromInline @inline(never) func drainDetailed() {
    let body = unsafe body
    var turn = DrainQuota(isMain: isOnMainQueue)
    while let (payload, completion) = next(&turn) {
      guard conclude(callNow(payload, body, completion), payload, completion) else { return }
    }
  }

  /// Isolated to the handler's actor: one hop a batch, and none between the claim and the call.
  @usableFromInline func drainTask(on place: isolated (any Actor)?) async {
    var turn = DrainQuota(isMain: isOnMainQueue)
    while await drainBound(&turn, on: place) {}
  }

  /// Runs calls under one binding of ``Context/running``, until there are none or one leaves a task behind.
  ///
  /// - Returns: whether there may be more.
  @usableFromInline func drainBound(_ turn: inout DrainQuota, on place: isolated (any Actor)?) async -> Bool {
    guard let executionSlot else { preconditionFailure("an asynchronous handler has a executionSlot") }
    let running = unsafe Unmanaged.passRetained(Invocation(executionSlot))
    return await Context.running.withValue(unsafe running.takeRetainedValue()) {
      _ = place  // a closure is isolated to what it captures: without this it would leave the actor, and come back after the claim
      let hasMore = await unsafe drainBound(running, &turn, on: place)
      unsafe running._withUnsafeGuaranteedRef { $0.end() }
      return hasMore
    }
  }

  @usableFromInline func drainBound(
    _ running: Unmanaged<Invocation>, _ turn: inout DrainQuota, on place: isolated (any Actor)?
  ) async
    -> Bool
  {
    let references = unsafe RuntimeSPI.references(to: running)
    let body = unsafe body
    if isPlain, let body, case .directAsync(let direct) = body.body {
      while let (payload, completion) = next(&turn) {
        let isBound = if let completion { completion.isBound } else { false }
        let outcome =
          isBound ? await callNow(payload, body, completion, on: place) : await callDirect(payload, direct, on: place)
        guard conclude(outcome, payload, completion) else { return false }
        if unsafe RuntimeSPI.references(to: running) != references { return true }
      }
      return false
    }
    while let (payload, completion) = next(&turn) {
      guard conclude(await callNow(payload, body, completion, on: place), payload, completion) else { return false }
      if unsafe RuntimeSPI.references(to: running) != references { return true }
    }
    return false
  }

  /// The same on an actor that is the owner: a hop each call, because the actor is held for the length of a call only.
  @usableFromInline func drainOnOwner() async {
    guard let executionSlot else { preconditionFailure("an asynchronous handler has a executionSlot") }
    var turn = DrainQuota(isMain: isOnMainQueue)
    while let (payload, completion) = next(&turn) {
      let running = Invocation(executionSlot)
      let goesOn = await Context.running.withValue(running) { await callOnOwner(payload, completion) }
      running.end()
      if !goesOn { return }
    }
  }

  private func callOnOwner(_ payload: BorrowedPayload, _ completion: Completion?) async -> Bool {
    if let actor = record.options.owner?.actor { return await call(payload, completion, on: actor) }
    record.set(HandlerFlags.removed)
    return conclude(.skipped, payload, completion)
  }

  private func call(_ payload: BorrowedPayload, _ completion: Completion?, on actor: isolated any Actor) async -> Bool {
    unsafe conclude(await callNow(payload, body, completion, on: actor), payload, completion)
  }

  /// After a call, or none; false if the lane has paused.
  @inline(__always) func conclude(_ outcome: HandlerOutcome, _ payload: BorrowedPayload, _ completion: Completion?)
    -> Bool
  {
    if case .skipped = outcome {
      switch refused(payload, completion, isTaken: true) {
      case .skip: break
      case .retry:
        unsafe batch.untake(.call(completion))
        return true
      case .pause: return false
      }
    }
    unsafe batch.destroyTaken()
    conclude(outcome, completion, at: self)
    return true
  }

  /// The next delivery, or nil: the lane has run dry and stopped, or has scheduled itself again to let others run.
  ///
  /// Before a refill, but for the first, it passes a moment without touching what the senders write: batches get longer, and starting a block or a task again would
  /// cost a sender 150 to 300 ns. Its payload stays where it is until the call is concluded.
  @inline(__always) func next(_ turn: inout DrainQuota) -> (BorrowedPayload, Completion?)? {
    while true {
      if unsafe batch.isEmpty {
        unsafe batch.recycle()
        if isBounded {
          if turn.isOver { return giveWay() }
        } else if turn.hasBegun {
          Thread.spin(Thread.spinLimit)
        }
        mutex.lock()
        if isBounded { unsafe bounded?.moveFirst(to: &batch) } else { unsafe swap(&items, &batch) }
        let isDry = unsafe batch.isEmpty
        if isDry, !mutant(.laneIsNotWoken) { phase = .idle }
        mutex.unlock()
        if isDry { return nil }
        if mutant(.laneIsReversed) { unsafe batch.reverse() }
      }
      if !isBounded, turn.isOver { return giveWay() }
      switch unsafe batch.takeFirst() {
      case .call(let completion):
        turn.left &-= 1
        return unsafe (batch.taken, completion)
      case .barrier(let completion): completion.arrive(self, nil)
      case .end: closeLate()
      case .done: break
      }
    }
  }

  @inline(never) private func giveWay() -> (BorrowedPayload, Completion?)? {
    schedule()
    return nil
  }
}
