import Synchronization

// Waiting for a completion. Each waiter is judged by itself: it does not wait for work that waits
// for it.

extension Completion {
  /// Waits until all outstanding work is done, except work that waits for the calling task.
  ///
  /// Runs the `.task` handlers of a `send` as child tasks meanwhile.
  @usableFromInline func wait() async -> SendReport {
    let id = purpose == .send ? 1 : enrol(Invocation.current)
    var wake = await nextWake(id)
    if case .children = wake {
      // One group for all children. An event that the occurrence was forwarded to may add children
      // at any time, and the first ones may wait for those.
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

  /// Waits like ``wait()``, for a ticket, but ends at once when the task is cancelled. Leaves
  /// nothing behind.
  ///
  /// - Returns: Whether all outstanding work is done, except work that waits for the calling task.
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

  /// Ends the wait of a task that was cancelled.
  private func giveUp(_ id: Int) {
    let continuation = unsafe withLock { () -> UnsafeContinuation<Void, Never>? in
      let i = waiter(id)
      waiters[i].hasGivenUp = true
      defer { unsafe waiters[i].continuation = nil }
      return unsafe waiters[i].continuation
    }
    unsafe continuation?.resume()
  }

  /// Reports, in a debug build, that a waiter does not wait for some of the work.
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

  /// Registers a waiter, and defers the work that waits for it.
  ///
  /// - Parameter running: The invocation that waits, if it is one.
  /// - Returns: The number of the waiter.
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

  /// Unregisters a waiter. Its invocation may be over by now: then it blocks nothing any more, but
  /// is still registered.
  private func leave(_ id: Int) {
    let left = withLock {
      let left = waiters.remove(at: waiter(id))
      left.running?.executionSlot.waits.removeAll { $0.completion === self && $0.waiter == id }
      return left
    }
    withExtendedLifetime(left) {}  // released after the mutex
  }
}
