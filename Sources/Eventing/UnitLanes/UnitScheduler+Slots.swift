// The slots of a scheduler, each of which runs one unit at a time, or the calls of one handler. No
// function here is called under a mutex.

extension UnitScheduler {
  /// Starts turns while one waits and a slot is free.
  func startUnits() {
    while true {
      var ended: [LaneUnit] = []
      guard let start = mutex.withLock({ takeStart(&ended) }) else { return }
      run(start)
    }
  }

  /// Enqueues a turn of a serial lane. If the scheduler has a free slot, starts the turn that is
  /// next.
  func enqueue(_ turns: SharedTurns) {
    var ended: [LaneUnit] = []
    mutex.lock()
    append(turns)
    let start = takeStart(&ended)
    mutex.unlock()
    if let start { run(start) }
  }

  func run(_ start: Start) {
    register(start)
    run(start.turn, on: start.slot)
  }

  /// Runs a turn that has just got a slot, and the turns that follow on that slot, on the main
  /// queue, in the calling block. If they take long, leaves the rest to a new block.
  func runHere(_ start: Start) {
    register(start)
    drain(start.turn, start.slot, isMain: true)
  }

  /// Adds the slot of `start` to the wait graph, if the slot is new.
  func register(_ start: Start) {
    if start.isNew { WaitGraph.mutex.withLock { unsafe slots.append(start.slot) } }
  }

  /// Runs one unit in the calling task, delays between attempts included.
  func runAsChild(_ unit: LaneUnit, on slot: ExecutionSlot) async {
    while true {
      let invocation = Invocation(slot)
      let result = await Context.invocation.withValue(invocation) { await unit.lane.run(unit, slot, on: nil) }
      invocation.end()
      if case .delayed(let delay) = result, await unit.lane.sleep(unit, on: slot, for: delay) { continue }
      if let next = unit.lane.finish(unit, unit.lane.givenUp(unit, result), slot) { run(next, on: slot) }
      return
    }
  }

  /// Runs one turn, and the turns that follow it, in a new block or task.
  func run(_ turn: LaneTurn, on slot: ExecutionSlot) {
    switch driver {
    case .queue(let queue):
      Scheduling.block(on: queue) { self.drain(turn, slot, isMain: Scheduling.isMainQueue(queue)) }
    case .mainBlocks: Scheduling.mainBlock { self.drain(turn, slot, isMain: true) }
    case .mainTasks:
      Scheduling.task(priority: nil, on: executor) { await self.drain(turn, slot, on: MainActor.shared) }
    case .tasks(let priority):
      Scheduling.task(priority: priority, on: executor) { await self.drain(turn, slot, on: nil) }
    }
  }

  /// Runs the calls of a synchronous handler: the call of `first`, and the calls that follow it on
  /// the slot. Each turn is a unit. The other kind of turn, calls of a serial lane, exists only on
  /// a shared ``Lane``, and no synchronous handler is on one.
  private func drain(_ first: LaneTurn, _ slot: ExecutionSlot, isMain: Bool) {
    if case .mainBlocks = driver { Scheduling.checkMain() }
    var quota = DrainQuota(isMain: isMain)
    var turn = first
    while let unit = turn.unit {
      if quota.isOver { return run(turn, on: slot) }
      quota.left &-= 1
      guard let next = unit.lane.finish(unit, unit.lane.runNow(unit, slot), slot) else { return }
      turn = next
    }
  }

  private func drain(_ first: LaneTurn, _ slot: ExecutionSlot, on place: isolated (any Actor)?) async {
    var isMain = false
    if case .mainTasks = driver { isMain = true }
    var quota = DrainQuota(isMain: isMain)
    var turn: LaneTurn? = first
    while let current = turn { turn = await drainBound(current, slot, &quota, on: place) }
  }

  /// Runs turns under one binding of ``Context/invocation``, until no turn is left, the quota is
  /// used up, or a call has started a task that goes on after the call.
  ///
  /// - Returns: The next turn of the slot, if a call has started a task that goes on. That task has
  ///   inherited the bound invocation, which has ended with the call, so the caller runs the turn
  ///   under a new binding. `nil` if no turn is left, or if the quota is used up: then a new block
  ///   or task runs the next turn.
  private func drainBound(
    _ first: LaneTurn, _ slot: ExecutionSlot, _ quota: inout DrainQuota, on place: isolated (any Actor)?
  ) async -> LaneTurn? {
    let invocation = unsafe Unmanaged.passRetained(Invocation(slot))
    return await Context.invocation.withValue(unsafe invocation.takeRetainedValue()) {
      // The closure is isolated to the actor that it captures: see SerialLane.drainBound.
      _ = place
      let references = unsafe RuntimeSPI.references(to: invocation)
      var turn: LaneTurn? = first
      var isShared = false
      while let current = turn {
        if quota.isOver {
          run(current, on: slot)
          turn = nil
          break
        }
        switch current {
        case .unit(let unit):
          quota.left &-= 1
          let lane = unit.lane
          if let (body, payload) = lane.beginDirect(unit, slot) {
            do {
              try await body(payload, on: place)
              isShared = unsafe Invocation.endIfShared(invocation, since: references)
              turn = lane.finishDelivered(unit, slot)
            } catch {
              isShared = unsafe Invocation.endIfShared(invocation, since: references)
              turn = lane.finish(unit, .ended(lane.failure(error, unit)), slot)
            }
          } else {
            let result = await lane.run(unit, slot, on: place)
            isShared = unsafe Invocation.endIfShared(invocation, since: references)
            turn = lane.finish(unit, result, slot)
          }
        case .calls(let turns):
          let left = await unsafe turns.lane.drain(turns, invocation, references, &quota)
          turn = left > 0 ? .calls(turns.withCount(left)) : next(on: slot)
          isShared = unsafe invocation._withUnsafeGuaranteedRef { !$0.isCurrent }  // the lane has ended it
        }
        if isShared { break }
      }
      unsafe invocation._withUnsafeGuaranteedRef { $0.end() }
      return turn
    }
  }

  /// Returns the next turn for a slot. If there is none, frees the slot, and returns `nil`.
  private func next(on slot: ExecutionSlot) -> LaneTurn? {
    var ended: [LaneUnit] = []
    switch mutex.withLock({ takeNext(slot, &ended) }) {
    case .run(let turn): return turn
    case .end: return nil
    case .search:
      Thread.spin(Thread.spinLimit)
      return mutex.withLock { takeFound(slot, &ended) }
    }
  }
}
