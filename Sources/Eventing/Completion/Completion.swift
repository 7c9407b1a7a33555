import Synchronization

/// The sender, the task-local context and the waiters of one occurrence.
///
/// Created only where needed: for a `send` that meets a lane or a busy event, for a `submit`, and
/// for an occurrence that is forwarded, or queued with a sender.
// Safe: `withLock` guards the mutable state, except what is set before any lane has the completion.
@usableFromInline final class Completion: @unchecked Sendable {
  @usableFromInline enum Purpose: Sendable {
    /// Nothing waits for the occurrence.
    case post
    /// A `send`, whose task runs the `.task` handlers as its children.
    case send
    /// A ticket or a `quiesce` waits.
    case ticket
  }

  @usableFromInline let purpose: Purpose
  /// Whether a cycle of waits could go through this completion. If not, it is not part of the wait
  /// graph, and has a mutex of its own.
  let isTracked: Bool
  private let ownMutex = UnfairMutex()

  /// The task-local values of the sender, if any are carried.
  @usableFromInline let context: CarriedContext?
  /// Whether no lane may drop the occurrence for want of room: a `send` brought it, and a lock held
  /// it. Set by the thread inside the core, before any lane has the completion.
  @usableFromInline @exclusivity(unchecked) var needsNoRoom = false
  /// The occurrence, as its observers see it. Set by the thread inside the core, before any lane
  /// has the completion.
  @usableFromInline @exclusivity(unchecked) var observed: ObservedOccurrence?
  @usableFromInline weak let sender: (any AnyObject & Sendable)?
  /// The events that the occurrence came through, if it was forwarded.
  @usableFromInline let path: ForwardingPath?
  /// The completion that waits for a forwarded occurrence, and does not count its handlers.
  private let root: Completion?

  /// The amount of outstanding work: one for the event until it has delivered, and one for each
  /// item on a lane. Guarded by: withLock.
  private var open = 1
  /// Whether the event has delivered the occurrence. Guarded by: withLock.
  private var isDelivered = false
  /// The outcomes so far. Guarded by: withLock.
  private var report = SendReport()
  /// The outstanding work at each node, if the completion is tracked. Guarded by: withLock.
  var outstanding: [ObjectIdentifier: Outstanding] = [:]
  /// The tasks that wait. Guarded by: withLock.
  var waiters: [Waiter] = []
  /// The number of the last waiter. Guarded by: withLock.
  var nextWaiter = 0
  /// The `.task` handlers that the sender has to start. Guarded by: withLock.
  private var children: [Child] = []

  /// A task that waits for the completion.
  ///
  /// The continuation carries no value: a resumed waiter reads the result under the mutex. (The
  /// thread sanitizer does not see that a resumption orders the value that it carries.)
  @safe struct Waiter {
    let id: Int
    let running: Invocation?
    /// The nodes that this waiter does not wait for, because they wait for it.
    var deferredNodes: Set<ObjectIdentifier> = []
    var continuation: UnsafeContinuation<Void, Never>?
    /// Whether the task was cancelled and has given up the wait.
    var hasGivenUp = false
  }
  /// The outstanding work at one node.
  struct Outstanding {
    let node: WaitNode
    /// Whether reports count this work. False for a sequence, and for an event that the occurrence
    /// was forwarded to.
    let isCounted: Bool
    var count = 0
  }
  /// The reason for which a waiter wakes.
  enum Wake: Sendable {
    case finished(SendReport)
    case children([Child])
  }
  /// A `.task` handler that the sender runs as a child task.
  struct Child {
    let priority: TaskPriority?
    let body: @Sendable () async -> Void
  }

  @usableFromInline init(_ purpose: Purpose, from sender: (any AnyObject & Sendable)? = nil) {
    self.purpose = purpose
    self.sender = sender
    context = CarriedContext.current()
    path = nil
    root = nil
    let running = purpose == .post ? nil : Invocation.current
    isTracked = purpose == .ticket || (purpose == .send && running != nil)
    // A send is a waiter from the start, before any lane has the occurrence. So the last wait of a
    // cycle closes it, and that one is deferred.
    if purpose == .send { _ = enrol(running) }
  }

  /// Creates the completion of an occurrence that is forwarded along a path.
  ///
  /// - Parameter waiting: The completion that waits, if any. It learns of all work that the
  ///   occurrence meets.
  @usableFromInline init(along path: ForwardingPath, from sender: (any AnyObject & Sendable)?, waiting: Completion?) {
    purpose = waiting?.purpose ?? .post
    self.sender = sender
    context = CarriedContext.current()
    self.path = path
    root = waiting?.root ?? waiting
    isTracked = false
    if let root { root.withLock { root.open += 1 } }
  }

  /// Creates the completion of an occurrence whose waiters were let go.
  private init(withoutWaiting context: CarriedContext?, _ observed: ObservedOccurrence?) {
    purpose = .post
    sender = nil
    self.context = context
    unsafe self.observed = observed
    path = nil
    root = nil
    isTracked = false
  }

  /// The part of the completion that a lane still needs when its waiters were let go; `nil` for
  /// none.
  var withoutWaiting: Completion? { unsafe isBound ? Completion(withoutWaiting: context, observed) : nil }

  /// Returns the completion of an occurrence that should have been called at once, and now waits on
  /// a lane after all; `nil` if it has neither context nor observers.
  @usableFromInline static func late(_ observed: ObservedOccurrence?) -> Completion? {
    let context = CarriedContext.current()
    return context != nil || observed != nil ? Completion(withoutWaiting: context, observed) : nil
  }

  /// Whether a buffer that suspends senders takes the occurrence even if it is full.
  var isSend: Bool { unsafe purpose == .send || needsNoRoom }

  /// Whether a waiter or an observer has to know that a lock holds the occurrence.
  var isToBeTold: Bool { unsafe isAwaited || observed != nil }

  /// Whether a lane has to bind the context, or tell observers, around a call.
  @usableFromInline var isBound: Bool { unsafe context != nil || observed != nil }

  @usableFromInline var isAwaited: Bool { purpose != .post }

  /// Runs a closure under the mutex of this completion: that of the wait graph if it is tracked,
  /// otherwise its own.
  func withLock<Result>(_ body: () -> Result) -> Result {
    isTracked ? WaitGraph.mutex.withLock(body) : ownMutex.withLock(body)
  }

  // MARK: For the event and its lanes

  /// Adds outstanding work at a lane or an execution slot.
  @usableFromInline func expect(_ node: WaitNode) {
    if root == nil { expect(node, isCounted: true) } else { expectUncounted(node) }
  }

  /// Adds outstanding work that no report counts.
  func expectUncounted(_ node: WaitNode) { (root ?? self).expect(node, isCounted: false) }

  private func expect(_ node: WaitNode, isCounted: Bool) {
    withLock {
      open += 1
      guard isTracked else { return }
      outstanding[ObjectIdentifier(node), default: Outstanding(node: node, isCounted: isCounted)].count += 1
      for i in waiters.indices where mustDefer(node, waiters[i]) {
        waiters[i].deferredNodes.insert(ObjectIdentifier(node))
      }
    }
  }

  /// Moves outstanding work from a lane to the execution slot that it was given.
  ///
  /// From now on the work waits for what that slot waits for, even if other slots are free.
  @usableFromInline func moveOutstanding(of lane: WaitNode, on executionSlot: ExecutionSlot) {
    if let root { return root.moveOutstanding(of: lane, on: executionSlot) }
    guard isTracked else { return }
    withLock {
      for i in waiters.indices where waiters[i].deferredNodes.contains(ObjectIdentifier(lane)) {
        waiters[i].deferredNodes.insert(ObjectIdentifier(executionSlot))
      }
      let isCounted = outstanding[ObjectIdentifier(lane)]?.isCounted ?? true
      remove(lane)
      outstanding[ObjectIdentifier(executionSlot), default: Outstanding(node: executionSlot, isCounted: isCounted)]
        .count += 1
    }
  }

  /// Completes outstanding work.
  ///
  /// - Parameters:
  ///   - node: The node where the work was.
  ///   - outcome: The outcome for the report; `nil` if no report counts it.
  @usableFromInline func arrive(_ node: WaitNode, _ outcome: HandlerOutcome?) {
    if let root { return root.arrive(node, nil) }
    unsafe wake(
      withLock {
        open -= 1
        if let outcome { report.count(outcome) }
        remove(node)
        return unsafe readyWaiters()
      })
  }

  /// Completes the delivery by the event.
  ///
  /// - Parameter part: The outcomes that the event decided itself.
  @usableFromInline func finishDelivery(_ part: SendReport) {
    if let root { return root.finishForward() }
    unsafe wake(
      withLock {
        open -= 1
        isDelivered = true
        report.add(part)
        return unsafe readyWaiters()
      })
  }

  /// Completes the delivery by an event that the occurrence was forwarded to.
  private func finishForward() {
    unsafe wake(
      withLock {
        open -= 1
        return unsafe readyWaiters()
      })
  }

  /// Adds a `.task` handler of a `send`, which the sender runs as a child task.
  @usableFromInline func adopt(priority: UInt8?, _ body: @escaping @Sendable () async -> Void) {
    if let root { return root.adopt(priority: priority, body) }
    withLock { children.append(Child(priority: priority.map(Scheduling.priority), body: body)) }
  }

  // MARK: Under the mutex

  /// Removes one piece of outstanding work at a node.
  private func remove(_ node: WaitNode) {
    guard isTracked, var part = outstanding[ObjectIdentifier(node)] else { return }
    part.count -= 1
    outstanding[ObjectIdentifier(node)] = part.count > 0 ? part : nil
    guard part.count == 0 else { return }
    for i in waiters.indices { waiters[i].deferredNodes.remove(ObjectIdentifier(node)) }  // the address may be reused
  }

  /// Returns whether a waiter must not wait for a node, because the node waits for the waiter.
  ///
  /// The search may read `waiters` of this completion (`nodes(for:)`), so no exclusive access to
  /// them may be open here.
  func mustDefer(_ node: WaitNode, _ waiter: Waiter) -> Bool {
    guard let running = waiter.running, running.isCurrent, !waiter.deferredNodes.contains(ObjectIdentifier(node)) else {
      return false
    }
    var question = WaitGraph.CycleSearch(running)
    return question.isBlocked(node) && !mutant(.cycleIsNotSeen)
  }

  /// Returns the nodes that a waiter waits for.
  func nodes(for waiter: Int) -> [WaitNode] {
    guard let waiter = waiters.first(where: { $0.id == waiter }) else { return [] }
    return outstanding.compactMap { id, part in waiter.deferredNodes.contains(id) ? nil : part.node }
  }

  func waiter(_ id: Int) -> Int {
    guard let i = waiters.firstIndex(where: { $0.id == id }) else { preconditionFailure("who waits is enrolled") }
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
    /// Returns the execution slot of a call and the nodes that it does not wait for; `nil` if it
    /// waits for everything.
    func nodesDeferred(_ waiter: Int) -> (ExecutionSlot, [WaitNode])? {
      guard let running = waiters[waiter].running, !waiters[waiter].deferredNodes.isEmpty else { return nil }
      return (running.executionSlot, waiters[waiter].deferredNodes.compactMap { outstanding[$0]?.node })
    }
  #endif

  /// Returns whether a waiter may wake: there are children to start, or nothing is left to wait
  /// for.
  func isReady(_ waiter: Int) -> Bool { isDelivered && (!children.isEmpty || open == deferredNodes(waiter)) }

  /// Returns the reason to wake a waiter, and hands over the children; `nil` if it has to wait.
  func readiness(of waiter: Int) -> Wake? {
    guard isReady(waiter) else { return nil }
    if !children.isEmpty {
      defer { children = [] }
      return .children(children)
    }
    var report = report
    report.deferred += deferred(waiter)
    report.sortFailures()
    return .finished(report)
  }

  private func readyWaiters() -> [UnsafeContinuation<Void, Never>] {
    var ready: [UnsafeContinuation<Void, Never>] = unsafe []
    for i in waiters.indices where isReady(i) {
      guard let continuation = unsafe waiters[i].continuation else { continue }
      unsafe waiters[i].continuation = nil
      unsafe ready.append(continuation)
    }
    return unsafe ready
  }

  private func wake(_ waiters: [UnsafeContinuation<Void, Never>]) {
    unsafe waiters.forEach { unsafe $0.resume() }
  }
}
