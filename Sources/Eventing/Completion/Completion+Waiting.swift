import Synchronization

// Waiters of the same completion may wait for different work: each waits for all outstanding work
// except work that is itself waiting for that waiter.

extension Completion {
  package func wait() async -> SendReport {
    let id = purpose == .send ? 1 : addWaiter(Invocation.current)  // `init` has added the waiter of a send, as number 1
    let wait = beginWait(id)
    var wake = await nextWake(id)
    if case .children = wake {
      // One group runs all children, so that later ones start while earlier ones are still running.
      // An event that the occurrence was forwarded to may add children at any time, and a running
      // child may wait for a later one.
      wake = await withDiscardingTaskGroup { group in
        while case .children(let children) = wake {
          for child in children { group.addTask(priority: child.priority) { await child.body() } }
          wake = await nextWake(id)
        }
        return wake
      }
    }
    guard case .finished(let report) = wake else { preconditionFailure("children are started in a group") }
    reportCycle(id)
    wait?.end()
    removeWaiter(id)
    return report
  }

  package var finishedReport: SendReport? {
    withMutex {
      guard isDelivered, unfinished == 0, children.isEmpty else { return nil }
      var report = report
      report.sortFailures()
      return report
    }
  }

  func waitUnlessCancelled() async -> Bool {
    let id = addWaiter(Invocation.current)
    let wait = beginWait(id)
    defer {
      wait?.end()
      removeWaiter(id)
    }
    while true {
      let (isDone, hasGivenUp) = withMutex { (isReady(waiter(id)), waiters[waiter(id)].hasGivenUp) }
      if isDone { reportCycle(id) }
      if isDone || hasGivenUp { return isDone }
      await withTaskCancellationHandler {
        await suspendUntilReady(id)
      } onCancel: {
        giveUp(id)
      }
    }
  }

  func waitForDelivery() async -> SendTicket.Acceptance {
    let id = addWaiter(nil, isForDelivery: true)
    defer { removeWaiter(id) }
    while !withMutex({ isReady(waiter(id)) }) { await suspendUntilReady(id) }
    return withMutex {
      let waiting = outstanding.values.reduce(0) { $0 + ($1.isCounted ? $1.count : 0) }
      let taken = unsafe report.delivered + report.failures.count + waiting - Int(interceptors)
      return SendTicket.Acceptance(accepted: taken, dropped: report.dropped, held: report.held)
    }
  }

  private func giveUp(_ id: Int) {
    let continuation = unsafe withMutex { () -> UnsafeContinuation<Void, Never>? in
      let i = waiter(id)
      waiters[i].hasGivenUp = true
      return unsafe waiters[i].continuation.take()
    }
    unsafe continuation?.resume()
  }

  private func beginWait(_ id: Int) -> WatchedWait? {
    let notes = unsafe notes
    if let wait = notes?.wait { return wait.with(self) }
    guard Instruments.areOn else { return nil }
    return Instruments.began(notes?.kind ?? (purpose == .send ? .send : .ticket), at: notes?.anchor, self, as: id)
  }

  private func reportCycle(_ id: Int) {
    #if DEBUG
      if isTracked, let (executionSlot, nodes) = withMutex({ nodesDeferred(waiter(id)) }),
        let target = executionSlot.target, !target.isReported.load(ordering: .relaxed)
      {
        CycleReport.tell(target, waitingFor: Set(nodes.map(\.title)).sortedUnspecialized(by: <))
      }
    #endif
  }

  /// Spins while another thread is about to deliver, because a suspended task is resumed through
  /// the pool, which takes about 40 µs on a busy machine.
  private func nextWake(_ id: Int) async -> Wake {
    var spinsLeft = purpose == .send ? Completion.mostSpins : 0
    while true {
      let (wake, isDelivered) = withMutex { () -> (Wake?, Bool) in (readiness(of: waiter(id)), self.isDelivered) }
      if let wake { return wake }
      if isDelivered || spinsLeft == 0 {
        await suspendUntilReady(id)
      } else {
        spinsLeft -= 1
        Thread.spin(Thread.spinLimit)
      }
    }
  }

  private static let mostSpins = 16

  private func suspendUntilReady(_ id: Int) async {
    unsafe await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
      let mayGoOn = withMutex {
        let i = waiter(id)
        if isReady(i) || waiters[i].hasGivenUp { return true }
        unsafe waiters[i].continuation = unsafe continuation
        return false
      }
      if mayGoOn { unsafe continuation.resume() }
    }
  }

  func addWaiter(_ invocation: Invocation?, isForDelivery: Bool = false) -> Int {
    withMutex {
      nextWaiter += 1
      let wait = isTracked ? invocation.map { SlotWait($0, self, nextWaiter) } : nil
      var waiter = unsafe Waiter(id: nextWaiter, wait: wait, isForDelivery: isForDelivery)
      for work in outstanding.values where mustDefer(work.node, waiter) {
        waiter.deferredNodes.insert(ObjectIdentifier(work.node))
      }
      waiters.append(waiter)
      if let wait { wait.invocation.executionSlot.add(wait) }
      return nextWaiter
    }
  }

  private func removeWaiter(_ id: Int) {
    let removed = withMutex {
      let removed = waiters.remove(at: waiter(id))
      if let wait = removed.wait { wait.invocation.executionSlot.remove(wait) }
      return removed
    }
    withExtendedLifetime(removed) {}  // released after unlocking
  }
}
