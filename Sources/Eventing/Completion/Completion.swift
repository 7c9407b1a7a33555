import Synchronization

/// The sender, the task-local context and the waiters of one occurrence.
///
/// Created only where needed: for a `send` that meets a lane or a busy event, for a `submit` or a
/// `quiesce`, and for an occurrence that is forwarded, observed, or enqueued with a sender or
/// task-local values.
///
/// "Guarded by: mutex" means the mutex that ``withMutex(_:)`` locks: ``WaitGraph/mutex`` if the
/// completion is part of the wait graph (``isTracked``), otherwise one of its own.
// Safe: each field says what guards it.
@usableFromInline package final class Completion: @unchecked Sendable {
  @usableFromInline enum Purpose: Sendable {
    /// Nothing waits for the occurrence.
    case post
    /// A `send`, whose task runs the `.task` handlers as its children.
    case send
    /// A ticket or a `quiesce` waits.
    case ticket
    /// A test asks whether the event is idle. A `quiesce` delivers the payloads that wait for a
    /// batch or a pace, so that they wait no longer. A probe lets them wait.
    case probe
  }

  let purpose: Purpose
  /// Whether the completion is part of the wait graph. True for tickets, barriers and probes, and
  /// for a `send` by a handler's call or by a loop that senders wait for. While an ``Instrument``
  /// is on, true for any `send`. False for the completions that a forwarded occurrence has in its
  /// targets: see ``root``.
  package let isTracked: Bool
  /// The mutex of a completion that is not part of the wait graph: see ``withMutex(_:)``.
  private let ownMutex = UnfairMutex()

  /// The task-local values of the sender, if any are carried.
  let context: CarriedContext?
  /// Whether a full buffer takes the occurrence: a `send` brought it and a lock has held it, or a
  /// pace passes it on before its time. Only the thread inside the core reads and sets this.
  @exclusivity(unchecked) var needsNoRoom = false
  /// Whether lanes do not tell the observers that a lock holds the occurrence. True if an earlier
  /// lock held it, because the observers were told then. Also true if the completion was made with
  /// observers by ``init(withoutWaiting:_:_:)``. Set before another thread has the completion.
  @exclusivity(unchecked) var isHeldKnown = false
  /// The occurrence, as its observers see it. Set by the thread inside the core, before any lane
  /// has the completion.
  @exclusivity(unchecked) var observed: ObservedOccurrence?
  /// The notes for inspections and traces; `nil` for most occurrences. Set before another thread
  /// has the completion.
  @exclusivity(unchecked) private(set) var notes: CompletionNotes?
  /// The object that was named as the sender (`from:`), held weakly.
  weak let sender: (any AnyObject & Sendable)?
  /// The events that the occurrence came through, if it was forwarded.
  let path: ForwardingPath?
  /// The completion in the event from which the occurrence was first forwarded, if something waits
  /// for that completion. The root waits for the handlers of every target. The report of the root
  /// does not count these handlers.
  let root: Completion?
  /// The skips by locks and the outcomes behind forwards, if a transport brought the occurrence.
  private let ownAccount: (any DeliveryAccount)?

  /// The amount of outstanding work: one for each event that has not delivered yet (this one, and
  /// those forwarded to), and one for each item on a lane. Guarded by: mutex.
  var open = 1
  /// Whether the event has delivered the occurrence. Guarded by: mutex.
  package var isDelivered = false
  /// The number of interceptors that were called. Changed inside the core, before ``isDelivered``
  /// is set; read after that.
  @exclusivity(unchecked) var interceptors: Int32 = 0
  /// The outcomes so far. Guarded by: mutex.
  package var report = SendReport()
  /// The outstanding work, by the ``WaitNode`` (such as a lane) where it has to be done; empty
  /// unless ``isTracked`` is true. Guarded by: mutex.
  package var outstanding: [ObjectIdentifier: Outstanding] = [:]
  /// The pace that passes the occurrence on to a lane at this moment, if there is one: see
  /// ``beginPassing(_:)``. Guarded by: mutex.
  var passing: WaitNode?
  /// The tasks that wait. Guarded by: mutex.
  package var waiters: [Waiter] = []
  /// The number of the waiter that was added last. Guarded by: mutex.
  var nextWaiter = 0
  /// The calls of `.task` handlers that the task of the `send` has to start. Guarded by: mutex.
  var children: [Child] = []

  /// A task that waits for the completion.
  ///
  /// The continuation carries no value: a resumed waiter reads the result under the mutex. (The
  /// thread sanitizer would report a race on a value that the continuation carries.)
  @safe package struct Waiter {
    /// The number of the waiter.
    package let id: Int
    /// The wait in the execution slot of the invocation that waits, if ``isTracked`` is true and
    /// the task belongs to an invocation.
    let wait: SlotWait?
    /// Whether the task only waits until the event has delivered the occurrence.
    var isForDelivery = false
    /// The nodes that this waiter does not wait for, because they wait for this waiter.
    package var deferredNodes: Set<ObjectIdentifier> = []
    /// The continuation of the task while it is suspended.
    var continuation: UnsafeContinuation<Void, Never>?
    /// Whether the task waits no more: it was cancelled and has given up, or it has its report.
    var hasGivenUp = false
  }
  /// The work that has to end at one ``WaitNode``, for instance the calls on one lane.
  package struct Outstanding {
    package let node: WaitNode
    /// Whether reports count this work. False for a sequence, and for an event that the occurrence
    /// was forwarded to.
    package var isCounted: Bool
    /// The number of pieces of work.
    var count = 0
  }
  /// The reason for which a waiter wakes.
  enum Wake: Sendable {
    case finished(SendReport)
    case children([Child])
  }
  /// A call of a `.task` handler, which the task of the `send` runs as a child task.
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

  /// Creates the completion of an occurrence that is forwarded along a path.
  ///
  /// - Parameter waiting: The completion of the occurrence in the event that forwards it; `nil` if
  ///   nothing waits for the occurrence. If `waiting` has a ``root``, the root counts the work in
  ///   the target, otherwise `waiting` does. The waiters of the one that counts wait for the work.
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

  /// Creates the completion of an occurrence that a transport brought. It belongs to no invocation.
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

  /// Creates the completion of an occurrence for which nothing waits any more. If a lock holds the
  /// occurrence, no lane tells the given observers so: see ``isHeldKnown``.
  init(
    withoutWaiting context: CarriedContext?, _ observed: ObservedOccurrence?, _ notes: CompletionNotes? = nil
  ) {
    purpose = .post
    sender = nil
    self.context = context
    unsafe self.observed = observed
    unsafe isHeldKnown = observed != nil
    path = nil
    root = nil
    ownAccount = nil
    isTracked = false
    unsafe self.notes = notes
  }

  /// The account of the occurrence. If the occurrence is forwarded, its completions in the targets
  /// have this account, too.
  var account: (any DeliveryAccount)? { root.map(\.ownAccount) ?? ownAccount }

  /// Notes when the occurrence was sent, and by which call, for a trace. Called before another
  /// thread has the completion, and before the other notes.
  func noteOrigin() { unsafe notes = CompletionNotes(origin: TraceOrigin(), kind: nil, anchor: nil) }

  /// Notes the kind of the wait and the anchor of its event. Called before another thread has the
  /// completion.
  ///
  /// The wait of a send begins here: an instrument knows it before the handlers are called. The
  /// sender waits afterwards in any case, unless a transport asks for the outcome first.
  fileprivate func note(_ kind: WatchedWait.Kind, at anchor: EventAnchor?) {
    let wait = kind == .send && account == nil ? Instruments.began(kind, at: anchor, self, as: 1).with(nil) : nil
    unsafe notes = CompletionNotes(origin: notes?.origin, kind: kind, anchor: anchor, wait: wait)
  }

  /// Whether a `send` brought the occurrence, even if a lock has held it since. A handler's buffer
  /// that suspends senders then takes the occurrence also when the buffer is full.
  var isSend: Bool { unsafe purpose == .send || needsNoRoom }

  /// Whether a lane has to bind the context, or tell observers, around a call.
  var isBound: Bool { unsafe context != nil || observed != nil }

  /// The occurrence, if the event is observed; otherwise `nil`.
  package var occurrence: (event: EventIdentity, sequence: UInt64)? {
    unsafe observed.map { ($0.observers.event, $0.sequence) }
  }

  /// Whether something waits for the occurrence.
  var isAwaited: Bool { purpose != .post }

  /// Runs a closure under ``WaitGraph/mutex`` if ``isTracked`` is true, otherwise under `ownMutex`.
  package func withMutex<Result>(_ body: () -> Result) -> Result {
    isTracked ? WaitGraph.mutex.withLock(body) : ownMutex.withLock(body)
  }

  // MARK: For the event and its lanes

  /// Adds one piece of outstanding work at a lane or an execution slot.
  func expect(_ node: WaitNode) {
    if root == nil { expect(node, isCounted: true) } else { expectUncounted(node) }
  }

  /// Adds one piece of outstanding work that no report counts.
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

  /// Moves one piece of outstanding work from a lane or a key to the call or slot that does it.
  ///
  /// From now on the work is blocked if that node is. Before, it was blocked only if every
  /// slot of the lane was. If a waiter defers the lane (``Waiter/deferredNodes``), this method lets
  /// that waiter defer that node, too.
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

  /// Completes one piece of outstanding work, and resumes the waiters that are ready.
  ///
  /// - Parameters:
  ///   - node: The node where the work was.
  ///   - outcome: The outcome for the report; `nil` if no report counts it.
  ///   - isAfterCall: Whether the calling thread is that of a lane, which has just returned from a
  ///     call. Such a thread resumes the waiters itself.
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

  /// Does what ``endDelivery(_:)`` does, outside of the core, and resumes the ready waiters.
  func finishDelivery(_ outcomes: SendReport) { unsafe Scheduling.resume(endDelivery(outcomes)) }

  /// Records that the event has delivered the occurrence.
  ///
  /// - Parameter outcomes: The outcomes that are known at the end of the delivery. Lanes report the
  ///   other outcomes by ``arrive(_:_:isAfterCall:)``.
  /// - Returns: The waiters that are ready. The caller resumes them.
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
  /// Notes what a completion is waited for with, and for which event, while an ``Instrument`` is
  /// on. Called before another thread has the completion.
  @inline(__always) func noteWait(_ kind: WatchedWait.Kind, _ completion: Completion) {
    if Instruments.areOn { completion.note(kind, at: anchorReference.load()) }
  }
}
