/// Details that the ``SendReport`` of an occurrence lacks: how many of the skipped handlers were
/// locked, and the outcomes of the handlers behind forwards.
///
/// Only an occurrence from a transport has one; see `Event.begin(_:)`.
// Safe: `mutex` guards all mutable state.
package final class DeliveryAccount: @unchecked Sendable {
  private let mutex = UnfairMutex()
  /// The number of handlers that were skipped because of a lock, those behind forwards included.
  /// Guarded by: mutex.
  @exclusivity(unchecked) private var locked = 0
  /// The number of events that the occurrence was forwarded to. Guarded by: mutex.
  @exclusivity(unchecked) private var forwards = 0
  /// The outcomes in the events that the occurrence was forwarded to. Guarded by: mutex.
  @exclusivity(unchecked) private var forwarded = SendReport()

  /// The way of the occurrence: the subjects that its message came through by forwards; `nil` if
  /// the transport gave none. Forwards out of the process read it (`EventSource.forwardAway`).
  package let origin: (any Sendable)?

  /// Makes a mark for one sequence that takes the occurrence; `nil` if there are no marks.
  let makeMark: (@Sendable () -> any OccurrenceMark)?

  init(from origin: (any Sendable)?, _ makeMark: (@Sendable () -> any OccurrenceMark)?) {
    self.origin = origin
    self.makeMark = makeMark
  }

  /// Notes that a handler was skipped because of a lock.
  func noteLock() { mutex.withLock { unsafe locked += 1 } }

  /// Notes that the occurrence is forwarded to an event.
  func noteForward() { mutex.withLock { unsafe forwards += 1 } }

  /// Notes the outcome of a handler of an event that the occurrence was forwarded to.
  func note(_ outcome: HandlerOutcome) { mutex.withLock { unsafe forwarded.count(outcome) } }

  /// Notes the outcomes that an event behind a forward knows at the end of its delivery. Lanes
  /// report the other outcomes one by one.
  func note(_ outcomes: SendReport) { mutex.withLock { unsafe forwarded.add(outcomes) } }

  /// Returns the outcome for all handlers, behind forwards too.
  ///
  /// - Parameter report: The report of the first event, which counts each forward as delivered.
  func outcome(_ report: SendReport) -> DeliveryOutcome {
    let (locked, forwards, forwarded) = mutex.withLock { unsafe (self.locked, self.forwards, self.forwarded) }
    return DeliveryOutcome(
      delivered: report.delivered - forwards + forwarded.delivered,
      leftOut: report.skipped + forwarded.skipped - locked,
      locked: locked, dropped: report.dropped + forwarded.dropped,
      deferred: report.deferred + forwarded.deferred, failures: report.failures + forwarded.failures)
  }
}

/// The outcome of an occurrence for all handlers, those behind forwards included.
package struct DeliveryOutcome: Sendable {
  /// The number of handlers that were called and returned.
  package let delivered: Int
  /// The number of handlers that did not get the occurrence because of a view, an interceptor, a
  /// failure or the end of the handler.
  package let leftOut: Int
  /// The number of handlers that were skipped because of a lock.
  package let locked: Int
  /// The number of handlers that had no room for the occurrence.
  package let dropped: Int
  /// The number of handlers that run later and were not waited for.
  package let deferred: Int
  /// The errors that handlers threw.
  package let failures: [HandlerFailure]
}

/// An occurrence whose delivery has begun, and whose outcome is awaited later.
///
/// Unless ``knownOutcome`` has an outcome, ``wait()`` must follow, because it runs the `.task`
/// handlers.
package struct BegunSend: Sendable {
  private let completion: Completion
  private let account: DeliveryAccount

  fileprivate init(_ completion: Completion, _ account: DeliveryAccount) {
    self.completion = completion
    self.account = account
  }

  /// The outcome, if every handler has finished; otherwise `nil`.
  package var knownOutcome: DeliveryOutcome? {
    guard let report = completion.finishedReport else { return nil }
    WaitingSends.end(completion, wasNoted: false)
    return account.outcome(report)
  }

  /// Waits until every handler has finished, behind forwards too.
  package nonisolated(nonsending) func wait() async -> DeliveryOutcome {
    account.outcome(await completion.wait())
  }
}

extension Event {
  /// Begins a send that is awaited later. As with every `send`, a lane with
  /// ``Buffering/suspendingSender(_:)`` takes the payload even if the lane is full. Unlike the
  /// caller of `post`, the caller never sleeps because of an overload.
  ///
  /// The send belongs to no handler, even if a handler calls `begin`. So no cycle of waits goes
  /// through it.
  ///
  /// - Parameters:
  ///   - payload: The payload.
  ///   - origin: The way that the payload came along, for `EventSource.forwardAway`.
  ///   - makeMark: A closure that makes a mark for each sequence that takes the payload, behind
  ///     forwards too. It runs inside the event, under no mutex.
  package nonisolated func begin(
    _ payload: Payload, from origin: (any Sendable)? = nil,
    marking makeMark: (@Sendable () -> any OccurrenceMark)? = nil
  ) -> BegunSend {
    let account = DeliveryAccount(from: origin, makeMark)
    let completion = Completion(accountedIn: account)
    lend(payload) { core.deliverOrEnqueue($0, completion) }
    return BegunSend(completion, account)
  }

  /// Whether an occurrence could reach a handler now: the event is neither locked nor finished, and
  /// has handlers. Some of these may be locked, or without their owner.
  ///
  /// - Complexity: O(1).
  package nonisolated var mayDeliver: Bool {
    core.mutex.withLock {
      guard unsafe !core.isEventLocked, unsafe !core.isFinished else { return false }
      if unsafe core.table.count > 0 { return true }
      guard let pendingWork = core.pendingWorkReference.load() else { return false }
      return unsafe !pendingWork.mailbox.newHandlers.isEmpty || pendingWork.keyIndex?.first != nil
    }
  }
}

extension KeyedEvent {
  /// Begins a send to a key that is awaited later: see `Event.begin(_:)`.
  package func begin(
    _ payload: Payload, to key: Key, from origin: (any Sendable)? = nil,
    marking makeMark: (@Sendable () -> any OccurrenceMark)? = nil
  ) -> BegunSend {
    event.begin(KeyedPayload(key, payload), from: origin, marking: makeMark)
  }

  /// Whether an occurrence could reach a handler of some key now: see `Event.mayDeliver`.
  package var mayDeliver: Bool { event.mayDeliver }
}

extension EventCore {
  /// Delivers an occurrence now if the event is idle, and enqueues it otherwise. Never sleeps.
  fileprivate func deliverOrEnqueue(_ payload: BorrowedPayload, _ completion: Completion) {
    let own = enter()
    if own != 0 {
      deliverQueued(payload, completion)
      leave(own)
    } else {
      WaitingSends.expect(completion, at: anchorReference.load())
      enqueue(payload, completion)
    }
  }
}
