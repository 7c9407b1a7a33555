import Synchronization

// The blocks and tasks of a lane's workers.

extension HandlerLane {
  func drain(_ worker: Worker, isHere: Bool = false) {
    var quota = DrainQuota(isMain: isMain, spins: !isHere)
    var goesOn = worker.beginsWithCall() || search(worker, &quota)
    while goesOn {
      // Retained once for many calls, and so is its closure.
      let member = worker.member
      guard case .now(let direct)? = unsafe member.direct else {
        goesOn = member.follow(member.runNow(worker), worker) && next(worker, &quota)
        continue
      }
      repeat {
        if let payload = member.beginFirstAttempt(worker) {
          var isFree = true
          do {
            try direct(payload)
            member.concludeFirstAttempt(worker)
          } catch {
            isFree = member.follow(member.runNow(worker, after: error), worker)
          }
          goesOn = isFree && next(worker, &quota)
        } else {
          goesOn = member.follow(member.runNow(worker), worker) && next(worker, &quota)
        }
      } while goesOn && worker.isBusy(with: member)
    }
  }

  func drain(_ worker: Worker, on place: isolated (any Actor)?) async {
    var quota = DrainQuota(isMain: isMain, spins: !isTaskForEachCall)
    guard worker.beginsWithCall() || search(worker, &quota) else { return }
    while await drainBound(worker, &quota, on: place) {}
  }

  /// Ends early if a call has left a task behind, which keeps the invocation.
  private func drainBound(_ worker: Worker, _ quota: inout DrainQuota, on place: isolated (any Actor)?) async -> Bool {
    let invocation = unsafe Unmanaged.passRetained(Invocation(worker))
    return await Context.invocation.withValue(unsafe invocation.takeRetainedValue()) {
      // A closure is isolated to the actor that it captures. Without this line the closure would
      // leave the actor, and come back between the claim and the call.
      _ = place
      let references = unsafe RuntimeSPI.references(to: invocation)
      var (goesOn, leftTask) = (true, false)
      repeat {
        // Retained once for many calls, and so is its closure.
        let member = worker.member
        guard case .async(let direct)? = unsafe member.direct else {
          let step = await member.runInEntrance(worker, on: place)
          leftTask = unsafe Invocation.endIfShared(invocation, since: references)
          goesOn = member.follow(step, worker) && next(worker, &quota)
          continue
        }
        repeat {
          if let payload = member.beginFirstAttempt(worker) {
            var isFree = true
            do {
              try await direct(payload, on: place)
              leftTask = unsafe Invocation.endIfShared(invocation, since: references)
              member.concludeFirstAttempt(worker)
            } catch {
              let step = await member.run(worker, after: error, on: place)
              // The handlers of a failure may start tasks, too.
              leftTask = unsafe Invocation.endIfShared(invocation, since: references)
              isFree = member.follow(step, worker)
            }
            goesOn = isFree && next(worker, &quota)
          } else {
            let step = await member.run(worker, on: place)
            leftTask = unsafe Invocation.endIfShared(invocation, since: references)
            goesOn = member.follow(step, worker) && next(worker, &quota)
          }
        } while goesOn && !leftTask && worker.isBusy(with: member)
      } while goesOn && !leftTask
      unsafe invocation._withUnsafeGuaranteedRef { $0.end() }
      return goesOn
    }
  }

  func drainChild(_ worker: Worker) async {
    unsafe worker.hasCall = false
    let member = worker.member
    var step = await runBound(worker)
    while case .delayed(let delay) = step {
      step = await member.sleep(worker, for: delay) ? await runBound(worker) : member.givenUp(worker)
    }
    var quota = DrainQuota(isMain: false, spins: false)
    if member.follow(step, worker) { _ = next(worker, &quota) }
  }

  private func runBound(_ worker: Worker) async -> NextStep {
    let invocation = Invocation(worker)
    defer { invocation.end() }
    return await Context.invocation.withValue(invocation) { await worker.member.run(worker, on: nil) }
  }
}
