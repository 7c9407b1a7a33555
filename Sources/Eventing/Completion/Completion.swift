import Synchronization

/// What travels with an occurrence beside its payload: what it has to say for itself, and who waits for it.
///
/// Made only where needed: for a `send` that meets a lane or a busy event, for a `submit`, and for what is queued with a sender or forwarded.
// Safe: what changes is guarded by `withLock`.
@usableFromInline final class Completion: @unchecked Sendable {
  @usableFromInline enum Purpose: Sendable {
    /// Nobody waits.
    case post
    /// A `send`, whose task runs the `.task` handlers as its children.
    case send
    /// A ticket, or `quiesce`.
    case ticket
  }

  @usableFromInline let purpose: Purpose
  /// Whether a cycle of waits could go through it. If not, it stays out of the graph and has its own lock.
  let isTracked: Bool
  private let ownMutex = UnfairMutex()

  /// The task-local values of the sender, if any are carried.
  @usableFromInline let context: CarriedContext?
  /// It was held, and a send had brought it: no lane drops it for want of room. Set as `observed`.
  @usableFromInline @exclusivity(unchecked) var needsNoRoom = false
  /// For those who observe the event. Set from inside, before any lane has this.
  @usableFromInline @exclusivity(unchecked) var observed: ObservedOccurrence?
  @usableFromInline weak let sender: (any AnyObject & Sendable)?
  /// The events that the occurrence came through, if it was forwarded.
  @usableFromInline let path: ForwardingPath?
  /// The completion that waits for what was forwarded, and does not count it.
  private let root: Completion?

  // Under the lock.
  /// The outstanding that are still out: one for the event itself, until it has delivered, and one for every lane item.
  private var open = 1
  private var isDelivered = false
  private var report = SendReport()
  var outstanding: [ObjectIdentifier: Outstanding] = [:]
  var waiters: [Waiter] = []
  var nextWaiter = 0
  private var children: [Child] = []

  /// Somebody who waits. `deferredNodes`: what it does not wait for, because that waits for it.
  ///
  /// The continuation carries nothing: what there is to know is read under the lock afterwards. (The thread sanitizer does not see that a resumption orders
  /// what it carries.)
  @safe struct Waiter {
    let id: Int
    let running: Invocation?
    var deferredNodes: Set<ObjectIdentifier> = []
    var continuation: UnsafeContinuation<Void, Never>?
    /// Its task was cancelled, and it does not wait all the same.
    var hasGivenUp = false
  }
  struct Outstanding {
    let node: WaitNode
    /// False for what is in no report, or has been counted: of an event that this was forwarded to, of a sequence.
    let isCounted: Bool
    var count = 0
  }
  enum Wake: Sendable {
    case finished(SendReport)
    case children([Child])
  }
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
    // A send waits from the start, before a lane has anything of it: so the last in a cycle is the one that closes it, and is deferred.
    if purpose == .send { _ = enrol(running) }
  }

  /// For what is forwarded along a path; `waiting`, if somebody waits, is then told of all that it meets.
  @usableFromInline init(along path: ForwardingPath, from sender: (any AnyObject & Sendable)?, waiting: Completion?) {
    purpose = waiting?.purpose ?? .post
    self.sender = sender
    context = CarriedContext.current()
    self.path = path
    root = waiting?.root ?? waiting
    isTracked = false
    if let root { root.withLock { root.open += 1 } }
  }

  /// For what nobody waits for any more.
  private init(withoutWaiting context: CarriedContext?, _ observed: ObservedOccurrence?) {
    purpose = .post
    sender = nil
    self.context = context
    unsafe self.observed = observed
    path = nil
    root = nil
    isTracked = false
  }

  /// What is left of it on a lane when nobody waits there any more.
  var withoutWaiting: Completion? { unsafe isBound ? Completion(withoutWaiting: context, observed) : nil }

  /// The same of what has none, because it was to be called at once.
  @usableFromInline static func late(_ observed: ObservedOccurrence?) -> Completion? {
    let context = CarriedContext.current()
    return context != nil || observed != nil ? Completion(withoutWaiting: context, observed) : nil
  }

  /// Whether a bound that lets senders wait has room for it in any case.
  var isSend: Bool { unsafe purpose == .send || needsNoRoom }

  /// Whether somebody wants to know that a lock holds it.
  var isToBeTold: Bool { unsafe isAwaited || observed != nil }

  /// Whether a lane has something to do around a call.
  @usableFromInline var isBound: Bool { unsafe context != nil || observed != nil }

  @usableFromInline var isAwaited: Bool { purpose != .post }

  func withLock<Result>(_ body: () -> Result) -> Result {
    isTracked ? WaitGraph.mutex.withLock(body) : ownMutex.withLock(body)
  }

  // MARK: For the event and its lanes

  /// One more part is out: something on this lane or executionSlot.
  @usableFromInline func expect(_ node: WaitNode) {
    if root == nil { expect(node, isCounted: true) } else { expectUncounted(node) }
  }

  /// The same for what is not to be counted as deferred.
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

  /// A part that waited on a lane has got a executionSlot: from now on it waits for what that executionSlot waits for, even if others are free.
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

  /// A part is done; `outcome` is nil for what counts in no report.
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

  /// The event has given the occurrence to all that it found; `part` is what it decided itself.
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

  private func finishForward() {
    unsafe wake(
      withLock {
        open -= 1
        return unsafe readyWaiters()
      })
  }

  /// A `.task` handler of a `send`: the sender runs it as its child.
  @usableFromInline func adopt(priority: UInt8?, _ body: @escaping @Sendable () async -> Void) {
    if let root { return root.adopt(priority: priority, body) }
    withLock { children.append(Child(priority: priority.map(Scheduling.priority), body: body)) }
  }

  // MARK: Under the lock

  private func remove(_ node: WaitNode) {
    guard isTracked, var part = outstanding[ObjectIdentifier(node)] else { return }
    part.count -= 1
    outstanding[ObjectIdentifier(node)] = part.count > 0 ? part : nil
    guard part.count == 0 else { return }
    for i in waiters.indices { waiters[i].deferredNodes.remove(ObjectIdentifier(node)) }  // its address may come back
  }

  /// Whether a waiter must not wait for a node, because the node waits for the waiter.
  ///
  /// The answer may need `waiters` of this very completion (`nodes(for:)`), so no access to them is open meanwhile.
  func mustDefer(_ node: WaitNode, _ waiter: Waiter) -> Bool {
    guard let running = waiter.running, running.isCurrent, !waiter.deferredNodes.contains(ObjectIdentifier(node)) else {
      return false
    }
    var question = WaitGraph.CycleSearch(running)
    return question.isBlocked(node) && !mutant(.cycleIsNotSeen)
  }

  /// What one of those waits for who wait here.
  func nodes(for waiter: Int) -> [WaitNode] {
    guard let waiter = waiters.first(where: { $0.id == waiter }) else { return [] }
    return outstanding.compactMap { id, part in waiter.deferredNodes.contains(id) ? nil : part.node }
  }

  func waiter(_ id: Int) -> Int {
    guard let i = waiters.firstIndex(where: { $0.id == id }) else { preconditionFailure("who waits is enrolled") }
    return i
  }

  /// How many outstanding are out that this one does not wait for.
  private func deferredNodes(_ waiter: Int) -> Int {
    waiters[waiter].deferredNodes.reduce(0) { $0 + (outstanding[$1]?.count ?? 0) }
  }
  /// The same of this event's own handlers.
  private func deferred(_ waiter: Int) -> Int {
    waiters[waiter].deferredNodes.reduce(0) { count, id in
      count + (outstanding[id].map { $0.isCounted ? $0.count : 0 } ?? 0)
    }
  }

  #if DEBUG
    /// The executionSlot of a call that does not wait for all, and the nodes that the call does not wait for.
    func nodesDeferred(_ waiter: Int) -> (ExecutionSlot, [WaitNode])? {
      guard let running = waiters[waiter].running, !waiters[waiter].deferredNodes.isEmpty else { return nil }
      return (running.executionSlot, waiters[waiter].deferredNodes.compactMap { outstanding[$0]?.node })
    }
  #endif

  func isReady(_ waiter: Int) -> Bool { isDelivered && (!children.isEmpty || open == deferredNodes(waiter)) }

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
