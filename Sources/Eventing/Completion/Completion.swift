import Synchronization

/// Most posts don't need one. "Guarded by: mutex" means the mutex that ``withMutex(_:)`` locks.
// Safe: each field says what guards it.
@usableFromInline package final class Completion: @unchecked Sendable {
  @usableFromInline enum Purpose: Sendable {
    case post
    case send
    case ticket
    /// Unlike a `quiesce`, doesn't deliver payloads that wait for a batch or a pace.
    case probe
  }

  let purpose: Purpose
  /// False in the target of a forward: see ``root``.
  package let isTracked: Bool
  private let ownMutex = UnfairMutex()

  let context: CarriedContext?
  /// If true, a full buffer accepts the occurrence. Isolation: core.
  @exclusivity(unchecked) var needsNoRoom = false
  /// Set before another thread has the completion.
  @exclusivity(unchecked) var isHeldKnown = false
  /// Set by the thread inside the core, before any lane has the completion.
  @exclusivity(unchecked) var observed: ObservedOccurrence?
  /// Set before another thread has the completion.
  @exclusivity(unchecked) private(set) var notes: CompletionNotes?
  weak let sender: (any AnyObject & Sendable)?
  let path: ForwardingPath?
  /// Also waits for the handlers in every target of a forward, although its report doesn't count
  /// them.
  let root: Completion?
  private let ownAccount: (any DeliveryAccount)?

  /// Counts the events that have yet to deliver (this one and those forwarded to) and the items on
  /// lanes. Guarded by: mutex.
  var unfinished = 1
  // Guarded by: mutex.
  package var isDelivered = false
  /// Not read until ``isDelivered`` is set. Changed only before that, inside the core.
  @exclusivity(unchecked) var interceptors: Int32 = 0
  // Guarded by: mutex.
  package var report = SendReport()
  /// Empty unless ``isTracked``. Guarded by: mutex.
  package var outstanding: [ObjectIdentifier: Outstanding] = [:]
  // Guarded by: mutex.
  var passing: WaitNode?
  // Guarded by: mutex.
  package var waiters: [Waiter] = []
  // Guarded by: mutex.
  var nextWaiter = 0
  // Guarded by: mutex.
  var children: [Child] = []

  /// The continuation carries no value, because the thread sanitizer would report a race on it. A
  /// resumed waiter reads the result under the mutex.
  @safe package struct Waiter {
    package let id: Int
    let wait: SlotWait?
    var isForDelivery = false
    package var deferredNodes: Set<ObjectIdentifier> = []
    var continuation: UnsafeContinuation<Void, Never>?
    var hasGivenUp = false
  }
  package struct Outstanding {
    package let node: WaitNode
    /// False for a sequence and for the target of a forward.
    package var isCounted: Bool
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

  init(
    _ purpose: Purpose, from sender: (any AnyObject & Sendable)? = nil, along path: ForwardingPath? = nil,
    accountedIn account: (any DeliveryAccount)? = nil, isPartOfCall: Bool = true
  ) {
    self.purpose = purpose
    self.sender = sender
    context = CarriedContext.current()
    self.path = path
    root = nil
    ownAccount = account
    let invocation = purpose == .post || !isPartOfCall ? nil : Invocation.current
    isTracked = purpose == .send ? invocation != nil || Instruments.areOn : purpose != .post
    // Adds the waiter of a `send` before any lane has the occurrence. If several sends are about to
    // wait for each other, the last wait to be added finds the others in the wait graph, and its
    // `send` defers the handlers for which waiting would close the cycle.
    if purpose == .send { _ = addWaiter(invocation) }
  }

  /// The work in the target is counted by the root of `waiting`, or by `waiting` itself if it has
  /// no root.
  init(along path: ForwardingPath, from sender: (any AnyObject & Sendable)?, waiting: Completion?) {
    purpose = waiting?.purpose ?? .post
    self.sender = sender
    context = CarriedContext.current()
    self.path = path
    root = waiting?.root ?? waiting
    ownAccount = nil
    isTracked = false
    if let root {
      root.withMutex { root.unfinished += 1 }
      root.ownAccount?.noteForward()
    }
  }

  init(
    withoutWaiting context: CarriedContext?, _ observed: ObservedOccurrence?, _ notes: CompletionNotes? = nil,
    along path: ForwardingPath? = nil
  ) {
    purpose = .post
    sender = nil
    self.context = context
    unsafe self.observed = observed
    unsafe isHeldKnown = observed != nil
    self.path = path
    root = nil
    ownAccount = nil
    isTracked = false
    unsafe self.notes = notes
  }

  var account: (any DeliveryAccount)? { root.map(\.ownAccount) ?? ownAccount }

  /// Called before another thread has the completion and before the other notes are added.
  func noteOrigin() { unsafe notes = CompletionNotes(origin: TraceOrigin(), kind: nil, anchor: nil) }

  /// Instruments are notified of a send's wait before the handlers are called.
  fileprivate func note(_ kind: WatchedWait.Kind, at anchor: EventAnchor?) {
    let wait = kind == .send && account == nil ? Instruments.began(kind, at: anchor, self, as: 1).with(nil) : nil
    unsafe notes = CompletionNotes(origin: notes?.origin, kind: kind, anchor: anchor, wait: wait)
  }

  var isSend: Bool { unsafe purpose == .send || needsNoRoom }

  var isBound: Bool { unsafe context != nil || observed != nil }

  package var occurrence: (event: EventIdentity, sequence: UInt64)? {
    unsafe observed.map { ($0.observers.event, $0.sequence) }
  }

  var isAwaited: Bool { purpose != .post }

  package func withMutex<Result>(_ body: () -> Result) -> Result {
    isTracked ? WaitGraph.mutex.withLock(body) : ownMutex.withLock(body)
  }

  // MARK: For the event and its lanes

  func expect(_ node: WaitNode) { (root ?? self).expect(node, isCounted: root == nil) }

  func expectUncounted(_ node: WaitNode) { (root ?? self).expect(node, isCounted: false) }

  private func expect(_ node: WaitNode, isCounted: Bool) {
    withMutex {
      unfinished += 1
      guard isTracked else { return }
      outstanding[ObjectIdentifier(node), default: Outstanding(node: node, isCounted: isCounted)].count += 1
      if isCounted, let passing {
        outstanding[ObjectIdentifier(passing)]?.isCounted = false
        self.passing = nil
      }
      for i in waiters.indices where mustDefer(node, waiters[i]) {
        waiters[i].deferredNodes.insert(ObjectIdentifier(node))
      }
    }
  }

  /// Moves outstanding work from a lane to the execution slot that runs it. From then on, that slot
  /// alone decides whether the work is blocked.
  func moveOutstanding(of lane: WaitNode, on executionSlot: WaitNode) {
    if let root { return root.moveOutstanding(of: lane, on: executionSlot) }
    guard isTracked else { return }
    withMutex {
      for i in waiters.indices where waiters[i].deferredNodes.contains(ObjectIdentifier(lane)) {
        waiters[i].deferredNodes.insert(ObjectIdentifier(executionSlot))
      }
      let isCounted = outstanding[ObjectIdentifier(lane)]?.isCounted ?? true
      remove(lane)
      outstanding[ObjectIdentifier(executionSlot), default: Outstanding(node: executionSlot, isCounted: isCounted)]
        .count += 1
    }
  }

  /// If `isAfterCall`, the lane's thread has just returned from a call and resumes the waiters
  /// itself.
  func arrive(_ node: WaitNode, _ outcome: Outcome?, isAfterCall: Bool = false) {
    if let root {
      if let outcome { root.ownAccount?.note(outcome) }
      return root.arrive(node, nil, isAfterCall: isAfterCall)
    }
    let ready = unsafe withMutex {
      unfinished -= 1
      if let outcome { report.count(outcome) }
      remove(node)
      return unsafe readyWaiters()
    }
    if isAfterCall { unsafe Scheduling.resumeHere(ready) } else { unsafe Scheduling.resume(ready) }
  }

  func finishDelivery(_ outcomes: SendReport) { unsafe Scheduling.resume(endDelivery(outcomes)) }

  func endDelivery(_ outcomes: SendReport) -> [UnsafeContinuation<Void, Never>] {
    if let root {
      root.ownAccount?.note(outcomes)
      return unsafe root.withMutex {
        root.unfinished -= 1
        return unsafe root.readyWaiters()
      }
    }
    return unsafe withMutex {
      unfinished -= 1
      isDelivered = true
      report.add(outcomes)
      return unsafe readyWaiters()
    }
  }
}

extension EventCore {
  /// Called before another thread has the completion.
  @inline(__always) func noteWait(_ kind: WatchedWait.Kind, _ completion: Completion) {
    if Instruments.areOn { completion.note(kind, at: anchorReference.load()) }
  }
}

// The calls of `.task` handlers, which the task that awaits the `send` runs as child tasks.
extension Completion {
  /// Hands the call to the sender, which wakes up and runs it as a child task. Returns whether the
  /// sender took the call: if it isn't waiting for the call, a child task would make it wait.
  func adoptUnlessDeferred(_ node: WaitNode, priority: UInt8?, _ body: @escaping @Sendable () async -> Void) -> Bool {
    if let root { return root.adoptUnlessDeferred(node, priority: priority, body) }
    let ready = unsafe withMutex { () -> [UnsafeContinuation<Void, Never>]? in
      guard let sender = waiters.first, !sender.hasGivenUp, !sender.deferredNodes.contains(ObjectIdentifier(node))
      else { return nil }
      children.append(Child(priority: priority.map(Scheduling.priority), body: body))
      return unsafe readyWaiters()
    }
    guard let ready = unsafe ready else { return false }
    unsafe Scheduling.resume(ready)
    return true
  }
}

// A pace holds back an occurrence for its handler and later passes it on to the handler's lane.
// Isolation: core.

extension Completion {
  /// The pace's work stays outstanding until the occurrence has been passed on but isn't counted
  /// once the lane has work of its own, because reports count each handler once.
  func notePassing(_ pace: WaitNode?) {
    if root == nil, isTracked { withMutex { passing = pace } }
  }
}

// A completion's outstanding work, counted in units such as one call on a lane, and the waiters
// that may continue. The caller of each function holds the completion's mutex.
extension Completion {
  func remove(_ node: WaitNode) {
    guard isTracked, var work = outstanding[ObjectIdentifier(node)] else { return }
    work.count -= 1
    outstanding[ObjectIdentifier(node)] = work.count > 0 ? work : nil
    guard work.count == 0 else { return }
    for i in waiters.indices { waiters[i].deferredNodes.remove(ObjectIdentifier(node)) }  // the address may be reused
  }

  /// Must not be called during an exclusive access to `waiters`, because the search may read it.
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
    isDelivered && (waiters[waiter].isForDelivery || !children.isEmpty || unfinished == deferredNodes(waiter))
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

  /// The caller resumes the waiters after unlocking.
  func readyWaiters() -> [UnsafeContinuation<Void, Never>] {
    var ready: [UnsafeContinuation<Void, Never>] = unsafe []
    for i in waiters.indices where isReady(i) {
      if let continuation = unsafe waiters[i].continuation.take() { unsafe ready.append(continuation) }
    }
    return unsafe ready
  }
}
