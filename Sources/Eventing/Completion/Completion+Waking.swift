// The outstanding work of a completion, counted in pieces such as one call on a lane; and the
// waiters that may go on. The caller of each function holds the mutex of the completion.
extension Completion {
  /// Removes one piece of the outstanding work that has to be done at a node of the graph of waits:
  /// for instance, one of the calls on a lane.
  func remove(_ node: WaitNode) {
    guard isTracked, var work = outstanding[ObjectIdentifier(node)] else { return }
    work.count -= 1
    outstanding[ObjectIdentifier(node)] = work.count > 0 ? work : nil
    guard work.count == 0 else { return }
    for i in waiters.indices { waiters[i].deferredNodes.remove(ObjectIdentifier(node)) }  // the address may be reused
  }

  /// Returns whether a waiter must not wait for a node, because the node waits for the waiter.
  ///
  /// The search may read `waiters` of this completion (`nodes(for:)`), so no exclusive access to
  /// `waiters` may be open here.
  func mustDefer(_ node: WaitNode, _ waiter: Waiter) -> Bool {
    guard let invocation = waiter.invocation, invocation.isCurrent,
      !waiter.deferredNodes.contains(ObjectIdentifier(node))
    else { return false }
    var search = WaitGraph.CycleSearch(invocation)
    return search.isBlocked(node) && !mutant(.cycleIsNotSeen)
  }

  /// Returns the nodes that a waiter waits for.
  package func nodes(for waiter: Int) -> [WaitNode] {
    guard let waiter = waiters.first(where: { $0.id == waiter }) else { return [] }
    return outstanding.compactMap { id, work in waiter.deferredNodes.contains(id) ? nil : work.node }
  }

  /// Returns the index of a waiter in `waiters`.
  func waiter(_ id: Int) -> Int {
    guard let i = waiters.firstIndex(where: { $0.id == id }) else {
      preconditionFailure("a waiter is added before it waits, and removed afterwards")
    }
    return i
  }

  /// Returns the amount of outstanding work that a waiter does not wait for.
  private func deferredNodes(_ waiter: Int) -> Int {
    waiters[waiter].deferredNodes.reduce(0) { $0 + (outstanding[$1]?.count ?? 0) }
  }

  /// Returns the number of this event's own handlers that a waiter does not wait for.
  private func deferred(_ waiter: Int) -> Int {
    waiters[waiter].deferredNodes.reduce(0) { count, id in
      count + (outstanding[id].map { $0.isCounted ? $0.count : 0 } ?? 0)
    }
  }

  #if DEBUG
    /// Returns the execution slot of a waiter's call, and the nodes that the call does not wait
    /// for; `nil` if the waiter belongs to no call, or waits for all work.
    func nodesDeferred(_ waiter: Int) -> (ExecutionSlot, [WaitNode])? {
      guard let invocation = waiters[waiter].invocation, !waiters[waiter].deferredNodes.isEmpty else { return nil }
      return (invocation.executionSlot, waiters[waiter].deferredNodes.compactMap { outstanding[$0]?.node })
    }
  #endif

  /// Returns whether a waiter may wake: the event has delivered the occurrence, and either the
  /// waiter waits for no more than that, or `children` has calls of `.task` handlers to start, or
  /// nothing is left that the waiter waits for.
  func isReady(_ waiter: Int) -> Bool {
    isDelivered && (waiters[waiter].isForDelivery || !children.isEmpty || open == deferredNodes(waiter))
  }

  /// Returns the reason to wake a waiter; `nil` if the waiter has to wait.
  ///
  /// If `children` has calls of `.task` handlers, the reason is ``Wake/children(_:)`` with all of
  /// them. This method removes them from `children`, so that the waiter starts each call once.
  /// Otherwise the reason is ``Wake/finished(_:)`` with the report.
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

  /// Takes out the continuations of the waiters that may wake. The caller resumes them after the
  /// unlock.
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
