import Synchronization

/// Details that the ``SendReport`` of an occurrence lacks: why handlers were skipped, which drops
/// the user asked for, and the outcomes of the handlers behind forwards.
///
/// Only an occurrence from a transport has one; see `Event.begin(_:)`. The transport acknowledges
/// the occurrence if handlers have handled it. So each decision that leaves a handler out for a
/// property of this very occurrence is noted here (``noteLeftOut()``). Every other skip means that
/// the handler has not handled the occurrence.
// Safe: `mutex` guards all mutable state.
package final class DeliveryAccount: @unchecked Sendable {
  private let mutex = UnfairMutex()
  /// The number of handlers that a view, an interceptor or a failure left out, those behind
  /// forwards included. Guarded by: mutex.
  @exclusivity(unchecked) private var leftOut = 0
  /// The number of calls of interceptors, which reports count as delivered. Guarded by: mutex.
  @exclusivity(unchecked) private var intercepted = 0
  /// The number of interceptors that stopped the occurrence. Guarded by: mutex.
  @exclusivity(unchecked) private var stops = 0
  /// The number of handlers that were skipped because of a lock, those behind forwards included.
  /// Guarded by: mutex.
  @exclusivity(unchecked) private var locked = 0
  /// The number of dropped calls for which a newer occurrence is called, as the handler's pace,
  /// restart or ``Buffering/latest`` demands, those behind forwards included. Guarded by: mutex.
  @exclusivity(unchecked) private var replaced = 0
  /// The object that a view with memory keeps of the occurrence; `nil` before it asks. Guarded by:
  /// mutex.
  @exclusivity(unchecked) private var ownFate: OccurrenceFate?
  /// The number of events that the occurrence was forwarded to. Guarded by: mutex.
  @exclusivity(unchecked) private var forwards = 0
  /// The outcomes in the events that the occurrence was forwarded to. Guarded by: mutex.
  @exclusivity(unchecked) private var forwarded = SendReport()

  /// The way of the occurrence: the subjects that its message came through by forwards; `nil` if
  /// the transport gave none. Forwards out of the process read it (`EventSource.forwardAway`).
  package let origin: (any Sendable)?

  /// Whether the transport has delivered the occurrence before, and a handler failed.
  let isRepeated: Bool

  /// Makes a mark for one sequence that takes the occurrence; `nil` if there are no marks.
  let makeMark: (@Sendable () -> any OccurrenceMark)?

  init(from origin: (any Sendable)?, isRepeated: Bool, _ makeMark: (@Sendable () -> any OccurrenceMark)?) {
    self.origin = origin
    self.isRepeated = isRepeated
    self.makeMark = makeMark
  }

  /// Notes that a handler was skipped because of a property of the occurrence itself.
  func noteLeftOut() { mutex.withLock { unsafe leftOut += 1 } }

  /// Notes that an interceptor was called. To let an occurrence pass does not handle it; to stop it
  /// does.
  func noteIntercepted(stops isStop: Bool) {
    mutex.withLock {
      unsafe intercepted += 1
      if isStop { unsafe stops += 1 }
    }
  }

  /// Notes that a handler was skipped because of a lock.
  func noteLock() { mutex.withLock { unsafe locked += 1 } }

  /// Notes that a call was dropped because the handler asked for the newest occurrence only.
  func noteReplaced() { mutex.withLock { unsafe replaced += 1 } }

  /// The object that a view with memory keeps of the occurrence. From it the view learns later
  /// whether the occurrence was handled.
  var fate: OccurrenceFate {
    mutex.withLock {
      if let fate = unsafe ownFate { return fate }
      let fate = OccurrenceFate()
      unsafe ownFate = fate
      return fate
    }
  }

  /// Notes that the transport gets the occurrence back, because it was not handled.
  fileprivate func noteHandedBack() {
    guard let fate = mutex.withLock({ unsafe ownFate }) else { return }
    fate.isHandedBack.publish(true)
  }

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
    mutex.withLock {
      unsafe DeliveryOutcome(
        forwards: forwards,
        delivered: report.delivered + forwarded.delivered - forwards - intercepted,
        leftOut: leftOut + stops, unhandled: report.skipped + forwarded.skipped - leftOut, locked: locked,
        replaced: replaced, dropped: report.dropped + forwarded.dropped - replaced,
        later: report.deferred + report.held + forwarded.deferred + forwarded.held,
        failures: report.failures + forwarded.failures)
    }
  }
}

/// Whether the transport got an occurrence back that a view with memory remembers.
final class OccurrenceFate: Sendable {
  let isHandedBack = Atomic<Bool>(false)
}

extension DeliveryTally {
  /// Notes, for a transport, that a view or an interceptor keeps the occurrence from a handler, for
  /// a property of the occurrence itself. The caller counts the handler as skipped.
  @usableFromInline @inline(never) func noteLeftOut() { completion?.account?.noteLeftOut() }
}

/// The outcome of an occurrence for all handlers, those behind forwards included.
package struct DeliveryOutcome: Sendable {
  /// The number of forwards that took the occurrence.
  package let forwards: Int
  /// The number of handlers that were called and returned, without interceptors.
  package let delivered: Int
  /// The number of handlers that did not get the occurrence because a view, an interceptor or a
  /// failure left them out, and of the interceptors that did so.
  package let leftOut: Int
  /// The number of handlers that were skipped because they had ended or were locked.
  package let unhandled: Int
  /// The number of handlers that were skipped because of a lock. They are in ``unhandled``, too.
  package let locked: Int
  /// The number of handlers that asked for the newest occurrence only, and get a newer one.
  package let replaced: Int
  /// The number of handlers that had no room for the occurrence.
  package let dropped: Int
  /// The number of handlers that run later and were not waited for.
  package let later: Int
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
    completion.finishedReport.map { account.outcome($0) }
  }

  /// Notes that the transport gets the occurrence back, because it was not handled. Views with
  /// memory forget the occurrence.
  package func noteHandedBack() { account.noteHandedBack() }

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
  ///   - isRepeated: Whether the payload was delivered before, and a handler failed. Views with
  ///     memory let it pass.
  ///   - makeMark: A closure that makes a mark for each sequence that takes the payload, behind
  ///     forwards too. It runs inside the event, under no mutex.
  package nonisolated func begin(
    _ payload: Payload, from origin: (any Sendable)? = nil, isRepeated: Bool = false,
    marking makeMark: (@Sendable () -> any OccurrenceMark)? = nil
  ) -> BegunSend {
    let account = DeliveryAccount(from: origin, isRepeated: isRepeated, makeMark)
    let completion = Completion(accountedIn: account)
    lend(payload) { core.deliverOrEnqueue($0, completion) }
    return BegunSend(completion, account)
  }
}

extension KeyedEvent {
  /// Begins a send to a key that is awaited later: see `Event.begin(_:)`.
  package func begin(
    _ payload: Payload, to key: Key, from origin: (any Sendable)? = nil, isRepeated: Bool = false,
    marking makeMark: (@Sendable () -> any OccurrenceMark)? = nil
  ) -> BegunSend {
    event.begin(KeyedPayload(key, payload), from: origin, isRepeated: isRepeated, marking: makeMark)
  }
}

extension EventCore {
  /// Delivers an occurrence now if the event is idle, and enqueues it otherwise. Never sleeps.
  fileprivate func deliverOrEnqueue(_ payload: BorrowedPayload, _ completion: Completion) {
    let own = enter()
    if own != 0 {
      deliverQueued(payload, completion)
      leave(own)
    } else {
      noteWait(.send, completion)
      enqueue(payload, completion)
    }
  }
}
