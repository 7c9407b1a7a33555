import Synchronization

// The blocks and tasks of a lane's workers.

extension Lane {
  /// Makes calls of synchronous handlers.
  func drain(_ worker: Worker) {
    if case .mainBlocks = executor { Scheduling.checkMain() }
    var quota = DrainQuota(isMain: isMain)
    var goesOn = worker.beginsWithCall() || next(worker, &quota)
    while goesOn {
      let member = worker.member
      goesOn = member.finish(member.runNow(worker), worker) && next(worker, &quota)
    }
  }

  /// Makes calls of asynchronous handlers, isolated to an actor if one is given.
  func drain(_ worker: Worker, on place: isolated (any Actor)?) async {
    var quota = DrainQuota(isMain: isMain)
    guard worker.beginsWithCall() || next(worker, &quota) else { return }
    while await drainBound(worker, &quota, on: place) {}
  }

  /// Makes calls under one binding of ``Context/invocation``, until none is left, or until a call
  /// has left a task behind, which keeps the invocation.
  ///
  /// - Returns: Whether there is another call.
  private func drainBound(_ worker: Worker, _ quota: inout DrainQuota, on place: isolated (any Actor)?) async -> Bool {
    let invocation = unsafe Unmanaged.passRetained(Invocation(worker))
    return await Context.invocation.withValue(unsafe invocation.takeRetainedValue()) {
      // The closure is isolated to the actor that it captures: see SerialLane.drainBound.
      _ = place
      let references = unsafe RuntimeSPI.references(to: invocation)
      var (goesOn, isShared) = (true, false)
      repeat {
        let member = worker.member
        if let (direct, payload) = member.beginDirect(worker) {
          do {
            try await direct(payload, on: place)
            isShared = unsafe Invocation.endIfShared(invocation, since: references)
            member.concludeDirect(worker)
          } catch {
            isShared = unsafe Invocation.endIfShared(invocation, since: references)
            _ = member.finish(.ended(member.failure(error, worker.call)), worker)
          }
          goesOn = next(worker, &quota)
          continue
        }
        let step: NextStep
        if let entrance = member.entrance(of: worker) {
          step = await Entrance.ofCall.withValue(entrance) {
            _ = place
            return await member.run(worker, on: place)
          }
        } else {
          step = await member.run(worker, on: place)
        }
        isShared = unsafe Invocation.endIfShared(invocation, since: references)
        goesOn = member.finish(step, worker) && next(worker, &quota)
      } while goesOn && !isShared
      unsafe invocation._withUnsafeGuaranteedRef { $0.end() }
      return goesOn
    }
  }

  /// Makes one call in a child task of its sender, delays between attempts included.
  func drainChild(_ worker: Worker) async {
    unsafe worker.hasCall = false
    let member = worker.member
    var step = await runBound(worker)
    while case .delayed(let delay) = step {
      step = await member.sleep(worker, for: delay) ? await runBound(worker) : member.givenUp(worker)
    }
    var quota = DrainQuota(isMain: false)
    if member.finish(step, worker) { _ = next(worker, &quota) }
  }

  private func runBound(_ worker: Worker) async -> NextStep {
    let invocation = Invocation(worker)
    defer { invocation.end() }
    return await Context.invocation.withValue(invocation) { await worker.member.run(worker, on: nil) }
  }
}

extension Member {
  /// Claims the call of a worker, if the drain can make that call itself, without ``run(_:on:)``,
  /// whose asynchronous functions each allocate a frame.
  @inline(__always) func beginDirect(_ worker: Worker) -> (ErasedAsyncHandler, BorrowedPayload)? {
    guard let direct = unsafe direct else { return nil }
    let isPlain = worker.withCall { call in
      unsafe call.attempts == 0 && !(call.completion?.isBound ?? false)
        && (modifiers.batch == nil || call.isUnboundBatch)
    }
    guard isPlain, record.claim() else { return nil }
    let payload = worker.withCall { call in
      calls.wrappingAdd(unsafe call.count, ordering: .releasing)
      unsafe call.attempts = 1
      if let batch = modifiers.batch { call.makeBatch(batch) }
      return call.payload
    }
    return (direct, payload)
  }

  /// Ends a call that has returned.
  @inline(__always) func concludeDirect(_ worker: Worker) {
    let isAlone = worker.withCall { call -> Bool in
      guard unsafe call.completion == nil, unsafe !call.isRare else { return false }
      ended.wrappingAdd(1, ordering: .releasing)
      call.clear()
      return true
    }
    if isAlone { unregisterIfSpent() } else { conclude(worker.call, at: worker.call.node, .delivered) }
  }
}
