import Synchronization

// Those who wait for a completion. Each is judged by itself: what waits for it is not waited for.

extension Completion {
  /// Returns when every part is done that does not wait for this very caller.
  @usableFromInline func wait() async -> SendReport {
    let id = purpose == .send ? 1 : enrol(Invocation.current)
    var wake = await nextWake(id)
    if case .children = wake {
      // One group for all: an event that this is forwarded to may bring more children at any time, for which the first may wait.
      wake = await withDiscardingTaskGroup { group in
        while case .children(let children) = wake {
          for child in children { group.addTask(priority: child.priority) { await child.body() } }
          wake = await nextWake(id)
        }
        return wake
      }
    }
    guard case .finished(let report) = wake else { preconditionFailure("children are started in a group") }
    tellOfCycle(id)
    leave(id)
    return report
  }

  /// As ``wait()``, for a ticket; but when the task is cancelled it ends at once, and leaves nothing behind.
  ///
  /// - Returns: whether every part is done that does not wait for this very caller.
  func waitUnlessCancelled() async -> Bool {
    let id = enrol(Invocation.current)
    defer { leave(id) }
    while true {
      let (isDone, hasGivenUp) = withLock { (isReady(waiter(id)), waiters[waiter(id)].hasGivenUp) }
      if isDone { tellOfCycle(id) }
      if isDone || hasGivenUp { return isDone }
      await withTaskCancellationHandler {
        await sleep(id)
      } onCancel: {
        giveUp(id)
      }
    }
  }

  private func giveUp(_ id: Int) {
    let continuation = unsafe withLock { () -> UnsafeContinuation<Void, Never>? in
      let i = waiter(id)
      waiters[i].hasGivenUp = true
      defer { unsafe waiters[i].continuation = nil }
      return unsafe waiters[i].continuation
    }
    unsafe continuation?.resume()
  }

  /// In a debug build: tells if something is not waited for.
  private func tellOfCycle(_ id: Int) {
    #if DEBUG
      if isTracked, let (executionSlot, nodes) = withLock({ nodesDeferred(waiter(id)) }), let lane = executionSlot.lane,
        !lane.isReported.load(ordering: .relaxed)
      {
        CycleReport.tell(lane, waitingFor: Set(nodes.map(\.title)).sorted())
      }
    #endif
  }

  private func nextWake(_ id: Int) async -> Wake {
    while true {
      if let wake = withLock({ readiness(of: waiter(id)) }) { return wake }
      await sleep(id)
    }
  }

  private func sleep(_ id: Int) async {
    unsafe await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
      let isEarly = withLock {
        let i = waiter(id)
        if isReady(i) || waiters[i].hasGivenUp { return true }
        unsafe waiters[i].continuation = unsafe continuation
        return false
      }
      if isEarly { unsafe continuation.resume() }
    }
  }

  func enrol(_ running: Invocation?) -> Int {
    withLock {
      nextWaiter += 1
      var waiter = unsafe Waiter(id: nextWaiter, running: isTracked ? running : nil)
      for part in outstanding.values where mustDefer(part.node, waiter) {
        waiter.deferredNodes.insert(ObjectIdentifier(part.node))
      }
      waiters.append(waiter)
      if isTracked, let running { running.executionSlot.waits.append((running, self, nextWaiter)) }
      return nextWaiter
    }
  }

  /// The call that enrolled may be over by now: then it is in nobody's way any more, but still enrolled.
  private func leave(_ id: Int) {
    let left = withLock {
      let left = waiters.remove(at: waiter(id))
      left.running?.executionSlot.waits.removeAll { $0.completion === self && $0.waiter == id }
      return left
    }
    withExtendedLifetime(left) {}  // released outside of the lock
  }
}
