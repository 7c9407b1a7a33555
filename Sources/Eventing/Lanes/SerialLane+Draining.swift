// The drain of a lane: one block or task at a time, which makes the calls that wait.

extension SerialLane {
  /// Schedules a drain of the lane: a block or task that makes the calls that wait on it. Called
  /// after the phase was set to `running`, to start a drain. Also called by a running drain that
  /// has used up its quota, directly before that drain ends. Then other work may run before the new
  /// drain does.
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
    case .inline, .concurrent, .task, .sequence, .lane, .restarting:
      preconditionFailure("\(record.place) has no serial lane")
    }
  }

  /// Drains the lane of a synchronous handler, in a block on its queue.
  @usableFromInline func drainQueue() {
    if isMain { Scheduling.checkMain() }
    guard let body = unsafe body, isPlain, body.isDirect else { return drainDetailed() }
    // Loaded once for all calls. A closure that is loaded for each call is retained for each.
    let direct = body.direct
    var quota = DrainQuota(isMain: isOnMainQueue)
    while let (payload, completion) = next(&quota) {
      let isBound = if let completion { completion.isBound } else { false }
      guard conclude(isBound ? callNow(payload, body, completion) : callDirect(payload, direct), payload, completion)
      else { return }
    }
  }

  /// Drains the lane of a synchronous handler whose closure takes more than the payload.
  @usableFromInline @inline(never) func drainDetailed() {
    let body = unsafe body
    var quota = DrainQuota(isMain: isOnMainQueue)
    while let (payload, completion) = next(&quota) {
      guard conclude(callNow(payload, body, completion), payload, completion) else { return }
    }
  }

  /// Drains the lane of an asynchronous handler, in a task that is isolated to the handler's actor.
  ///
  /// The task hops to the actor once for many calls. No hop lies between a claim and its call.
  @usableFromInline func drainTask(on place: isolated (any Actor)?) async {
    var quota = DrainQuota(isMain: isOnMainQueue)
    while await drainBound(&quota, on: place) {}
  }

  /// Runs calls under one binding of ``Context/invocation``, until no call waits, the quota is used
  /// up, or a call has started a task that goes on after the call.
  ///
  /// - Returns: Whether more calls may wait.
  @usableFromInline func drainBound(_ quota: inout DrainQuota, on place: isolated (any Actor)?) async -> Bool {
    guard let executionSlot else { preconditionFailure("an asynchronous handler has an execution slot") }
    let invocation = unsafe Unmanaged.passRetained(Invocation(executionSlot))
    return await Context.invocation.withValue(unsafe invocation.takeRetainedValue()) {
      // A closure is isolated to the actor that it captures. Without this line the closure would
      // leave the actor, and come back between the claim and the call.
      _ = place
      let hasMore = await unsafe drainBound(invocation, &quota, on: place)
      unsafe invocation._withUnsafeGuaranteedRef { $0.end() }
      return hasMore
    }
  }

  /// Runs calls while ``Context/invocation`` is bound to `invocation`.
  ///
  /// - Returns: Whether a call has started a task that goes on after the call. That task still
  ///   holds the invocation, so the next call needs a new one.
  @usableFromInline func drainBound(
    _ invocation: Unmanaged<Invocation>, _ quota: inout DrainQuota, on place: isolated (any Actor)?
  ) async
    -> Bool
  {
    let references = unsafe RuntimeSPI.references(to: invocation)
    let body = unsafe body
    if isPlain, let body, case .directAsync(let direct) = body.body {
      while let (payload, completion) = next(&quota) {
        let isBound = if let completion { completion.isBound } else { false }
        let outcome =
          isBound ? await callNow(payload, body, completion, on: place) : await callDirect(payload, direct, on: place)
        let isShared = unsafe Invocation.endIfShared(invocation, since: references)
        guard conclude(outcome, payload, completion) else { return false }
        if isShared { return true }
      }
      return false
    }
    while let (payload, completion) = next(&quota) {
      let outcome = await callNow(payload, body, completion, on: place)
      let isShared = unsafe Invocation.endIfShared(invocation, since: references)
      guard conclude(outcome, payload, completion) else { return false }
      if isShared { return true }
    }
    return false
  }

  /// Drains the lane of a handler that is isolated to its owner, an actor.
  ///
  /// Each call hops to the actor anew, because the lane retains the owner only for the length of a
  /// call.
  @usableFromInline func drainOnOwner() async {
    guard let executionSlot else { preconditionFailure("an asynchronous handler has an execution slot") }
    var quota = DrainQuota(isMain: isOnMainQueue)
    while let (payload, completion) = next(&quota) {
      let invocation = Invocation(executionSlot)
      let goesOn = await Context.invocation.withValue(invocation) {
        await callOnOwner(payload, completion, invocation)
      }
      invocation.end()
      if !goesOn { return }
    }
  }

  private func callOnOwner(
    _ payload: BorrowedPayload, _ completion: Completion?, _ invocation: Invocation
  ) async -> Bool {
    if let actor = record.options.owner?.actor { return await call(payload, completion, invocation, on: actor) }
    _ = anchor.remove(record)
    return conclude(.skipped, payload, completion)
  }

  private func call(
    _ payload: BorrowedPayload, _ completion: Completion?, _ invocation: Invocation, on actor: isolated any Actor
  ) async -> Bool {
    let outcome = unsafe await callNow(payload, body, completion, on: actor)
    invocation.end()  // the invocation ends before `conclude` tells the sender that the call has ended
    return conclude(outcome, payload, completion)
  }

  /// Concludes a call that was made, or whose claim was refused. Returns false if the drain must
  /// end: the lane has paused, and keeps the call.
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

  /// Returns the next call. Its payload stays in place until the call is concluded.
  ///
  /// If `batch` is empty, this method moves the items that wait into it. Before each such refill
  /// except the first, an unbounded lane spins without touching memory that senders write.
  /// Meanwhile senders append calls. So each refill brings more items, and senders seldom have to
  /// start a block or a task, which costs 150 to 300 ns on x86-64 Linux.
  ///
  /// - Returns: `nil` if the drain ends: the lane is empty, or its quota is used up and another
  ///   drain is scheduled.
  @inline(__always) func next(_ quota: inout DrainQuota) -> (BorrowedPayload, Completion?)? {
    if unsafe beginsParked { unpark() }
    while true {
      if unsafe batch.isEmpty {
        unsafe batch.recycle()
        if isBounded {
          if quota.isOver { return giveWay() }
        } else if quota.hasBegun {
          Thread.spin(Thread.spinLimit)
        }
        mutex.lock()
        if isBounded {
          unsafe bounded?.moveFirst(to: &batch)
        } else {
          unsafe swap(&items, &batch)
          unsafe takenCount &+= batch.count
        }
        let isDry = unsafe batch.isEmpty
        if isDry, !mutant(.laneIsNotWoken) { phase = .idle }
        unsafe isParked = false
        mutex.unlock()
        if isDry { return nil }
        if mutant(.laneIsReversed) { unsafe batch.reverse() }
      }
      if !isBounded, quota.isOver { return giveWay() }
      switch unsafe batch.takeFirst() {
      case .call(let completion):
        quota.left &-= 1
        return unsafe (batch.taken, completion)
      case .barrier(let completion): completion.arrive(self, nil)
      case .end: closeLate()
      case .done: break
      }
    }
  }

  /// Schedules another drain, so that other work may use the queue or the pool first. Returns
  /// `nil`.
  @inline(never) private func giveWay() -> (BorrowedPayload, Completion?)? {
    unsafe beginsParked = true
    park()
    schedule()
    return nil
  }

  /// Leaves `batch` to the next drain. Until that begins, the calls in `batch` can be abandoned.
  @inline(never) func park() { mutex.withLock { unsafe isParked = true } }

  /// Notes that a drain has begun that uses `batch`.
  @inline(never) private func unpark() {
    unsafe beginsParked = false
    mutex.withLock { unsafe isParked = false }
  }
}
