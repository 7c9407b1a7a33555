// The outstanding work of a completion, counted in pieces such as one call on a lane; and the
// waiters that may go on. The caller of each function holds the mutex of the completion.
extension Completion {
  func remove(_ node: WaitNode) {
    guard isTracked, var work = outstanding[ObjectIdentifier(node)] else { return }
    work.count -= 1
    outstanding[ObjectIdentifier(node)] = work.count > 0 ? work : nil
    guard work.count == 0 else { return }
    for i in waiters.indices { waiters[i].deferredNodes.remove(ObjectIdentifier(node)) }  // the address may be reused
  }

  /// No exclusive access to `waiters` may be open, because the search may read them.
  func mustDefer(_ node: WaitNode, _ waiter: Waiter) -> Bool {
    guard let invocation = waiter.invocation, invocation.isCurrent,
      !waiter.deferredNodes.contains(ObjectIdentifier(node))
    else { return false }
    var search = WaitGraph.CycleSearch(invocation)
    return search.isBlocked(node) && !mutant(.cycleIsNotSeen)
  }

  package func nodes(for waiter: Int) -> [WaitNode] {
    guard let waiter = waiters.first(where: { $0.id == waiter }) else { return [] }
    return outstanding.compactMap { id, work in waiter.deferredNodes.contains(id) ? nil : work.node }
  }

  func waiter(_ id: Int) -> Int {
    guard let i = waiters.firstIndex(where: { $0.id == id }) else {
      preconditionFailure("a waiter is added before it waits, and removed afterwards")
    }
    return i
  }

  private func deferredNodes(_ waiter: Int) -> Int {
    waiters[waiter].deferredNodes.reduce(0) { $0 + (outstanding[$1]?.count ?? 0) }
  }

  private func deferred(_ waiter: Int) -> Int {
    waiters[waiter].deferredNodes.reduce(0) { count, id in
      count + (outstanding[id].map { $0.isCounted ? $0.count : 0 } ?? 0)
    }
  }

  #if DEBUG
    func nodesDeferred(_ waiter: Int) -> (ExecutionSlot, [WaitNode])? {
      guard let invocation = waiters[waiter].invocation, !waiters[waiter].deferredNodes.isEmpty else { return nil }
      return (invocation.executionSlot, waiters[waiter].deferredNodes.compactMap { outstanding[$0]?.node })
    }
  #endif

  func isReady(_ waiter: Int) -> Bool {
    isDelivered && (waiters[waiter].isForDelivery || !children.isEmpty || open == deferredNodes(waiter))
  }

  func readiness(of waiter: Int) -> Wake? {
    guard isReady(waiter) else { return nil }
    if !children.isEmpty {
      defer { children = [] }
      return .children(children)
    }
    waiters[waiter].hasGivenUp = true
    var report = report
    report.deferred += deferred(waiter)
    report.sortFailures()
    return .finished(report)
  }

  /// The caller resumes the waiters after the unlock.
  func readyWaiters() -> [UnsafeContinuation<Void, Never>] {
    var ready: [UnsafeContinuation<Void, Never>] = unsafe []
    for i in waiters.indices where isReady(i) {
      guard let continuation = unsafe waiters[i].continuation else { continue }
      unsafe waiters[i].continuation = nil
      unsafe ready.append(continuation)
    }
    return unsafe ready
  }
}
