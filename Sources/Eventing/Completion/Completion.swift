import Synchronization

/// Most posts need none. "Guarded by: mutex" means the mutex that ``withMutex(_:)`` locks.
// Safe: each field says what guards it.
@usableFromInline package final class Completion: @unchecked Sendable {
  @usableFromInline enum Purpose: Sendable {
    case post
    case send
    case ticket
    /// A `quiesce` delivers the payloads that wait for a batch or a pace. A probe lets them wait.
    case probe
  }

  let purpose: Purpose
  /// False for a forwarded occurrence in its target: see ``root``.
  package let isTracked: Bool
  private let ownMutex = UnfairMutex()

  let context: CarriedContext?
  /// A full buffer then takes the occurrence. Isolation: core.
  @exclusivity(unchecked) var needsNoRoom = false
  /// Set before another thread has the completion.
  @exclusivity(unchecked) var isHeldKnown = false
  /// Set by the thread inside the core, before any lane has the completion.
  @exclusivity(unchecked) var observed: ObservedOccurrence?
  /// Set before another thread has the completion.
  @exclusivity(unchecked) private(set) var notes: CompletionNotes?
  weak let sender: (any AnyObject & Sendable)?
  let path: ForwardingPath?
  /// Waits for the handlers of every target of a forward, though its report does not count them.
  let root: Completion?
  private let ownAccount: (any DeliveryAccount)?

  /// One for each event that has not delivered yet (this one, and those forwarded to), and one for
  /// each item on a lane. Guarded by: mutex.
  var open = 1
  /// Guarded by: mutex.
  package var isDelivered = false
  /// Changed inside the core before ``isDelivered`` is set, and read after that.
  @exclusivity(unchecked) var interceptors: Int32 = 0
  /// Guarded by: mutex.
  package var report = SendReport()
  /// Empty unless ``isTracked``. Guarded by: mutex.
  package var outstanding: [ObjectIdentifier: Outstanding] = [:]
  /// Guarded by: mutex.
  var passing: WaitNode?
  /// Guarded by: mutex.
  package var waiters: [Waiter] = []
  /// Guarded by: mutex.
  var nextWaiter = 0
  /// Guarded by: mutex.
  var children: [Child] = []

  /// The continuation carries no value, on which the thread sanitizer would report a race. A
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
    /// False for a sequence, and for the target of a forward.
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
    accountedIn account: (any DeliveryAccount)? = nil
  ) {
    self.purpose = purpose
    self.sender = sender
    context = CarriedContext.current()
    self.path = path
    root = nil
    ownAccount = account
    let invocation = purpose == .post ? nil : Invocation.current
    isTracked =
      purpose == .send ? invocation != nil || Instruments.areOn : purpose != .post
    // Adds the waiter of a `send` before any lane has the occurrence. If several sends are about to
    // wait for each other, the last of these waits to be added finds the others in the wait graph.
    // Its `send` then defers the handlers for which a wait would close the cycle.
    if purpose == .send { _ = addWaiter(invocation) }
  }

  /// The root of `waiting` counts the work in the target, or `waiting` does, if it has no root.
  init(along path: ForwardingPath, from sender: (any AnyObject & Sendable)?, waiting: Completion?) {
    purpose = waiting?.purpose ?? .post
    self.sender = sender
    context = CarriedContext.current()
    self.path = path
    root = waiting?.root ?? waiting
    ownAccount = nil
    isTracked = false
    if let root {
      root.withMutex { root.open += 1 }
      root.ownAccount?.noteForward()
    }
  }

  init(accountedIn account: any DeliveryAccount) {
    purpose = .send
    sender = nil
    context = CarriedContext.current()
    path = nil
    root = nil
    ownAccount = account
    isTracked = Instruments.areOn
    _ = addWaiter(nil)
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

  /// Called before another thread has the completion, and before the other notes.
  func noteOrigin() { unsafe notes = CompletionNotes(origin: TraceOrigin(), kind: nil, anchor: nil) }

  /// An instrument knows the wait of a send before the handlers are called.
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

  func expect(_ node: WaitNode) {
    if root == nil { expect(node, isCounted: true) } else { expectUncounted(node) }
  }

  func expectUncounted(_ node: WaitNode) { (root ?? self).expect(node, isCounted: false) }

  private func expect(_ node: WaitNode, isCounted: Bool) {
    withMutex {
      open += 1
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

  /// Moves outstanding work from a lane to the execution slot that runs it. From then on that slot
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

  /// A thread of a lane that has just returned from a call resumes the waiters itself.
  func arrive(_ node: WaitNode, _ outcome: Outcome?, isAfterCall: Bool = false) {
    if let root {
      if let outcome { root.ownAccount?.note(outcome) }
      return root.arrive(node, nil, isAfterCall: isAfterCall)
    }
    let ready = unsafe withMutex {
      open -= 1
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
        root.open -= 1
        return unsafe root.readyWaiters()
      }
    }
    return unsafe withMutex {
      open -= 1
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
