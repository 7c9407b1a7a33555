package import Synchronization

/// A transport's account of an occurrence that it brought: what the report of the occurrence does
/// not tell apart.
///
/// The transport acknowledges the occurrence if handlers have handled it. So each decision that
/// leaves a handler out for a property of this very occurrence is noted here (``noteLeftOut()``).
/// Every other skip means that the handler has not handled the occurrence.
///
/// Its methods may be called inside the event, and under no mutex.
package protocol DeliveryAccount: AnyObject, Sendable {
  /// The way of the occurrence: the subjects that its message came through by forwards; `nil` if
  /// the transport gave none.
  var origin: (any Sendable)? { get }
  /// Whether the transport has delivered the occurrence before, and a handler failed.
  var isRepeated: Bool { get }
  /// Makes a mark for one sequence that takes the occurrence; `nil` if there are no marks.
  var makeMark: (@Sendable () -> any OccurrenceMark)? { get }
  /// Tells an object that a view with memory keeps of the occurrence when the occurrence was not
  /// handled.
  func tell(_ fate: OccurrenceFate)
  /// Returns the account of a batch of this occurrence and others. What is noted there is noted for
  /// each of them.
  func joined(with others: some Collection<any DeliveryAccount>) -> any DeliveryAccount
  /// Notes that a handler was skipped because of a property of the occurrence itself.
  func noteLeftOut()
  /// Notes that an interceptor was called. To let an occurrence pass does not handle it; to stop it
  /// does.
  func noteIntercepted(stops isStop: Bool)
  /// Notes that a handler was skipped because of a lock.
  func noteLock()
  /// Notes that a call was dropped because the handler asked for the newest occurrence only.
  func noteReplaced()
  /// Notes that the occurrence is forwarded to an event.
  func noteForward()
  /// Notes the outcome of a handler of an event that the occurrence was forwarded to.
  func note(_ outcome: Outcome)
  /// Notes the outcomes that an event behind a forward knows at the end of its delivery. Lanes
  /// report the other outcomes one by one.
  func note(_ outcomes: SendReport)
}

/// Whether the transport got an occurrence back that a view with memory remembers.
package final class OccurrenceFate: Sendable {
  package let isHandedBack = Atomic<Bool>(false)
  package init() {}
}

extension DeliveryAccount {
  /// Makes the object that a view with memory keeps of the occurrence. From it the view learns
  /// later whether the occurrence was handled.
  func makeFate() -> OccurrenceFate {
    let fate = OccurrenceFate()
    tell(fate)
    return fate
  }
}

extension Delivery {
  /// Notes, for a transport, that a view or an interceptor keeps the occurrence from a handler, for
  /// a property of the occurrence itself. The caller counts the handler as skipped.
  @usableFromInline @inline(never) func noteLeftOut() { completion?.account?.noteLeftOut() }
}

extension Event {
  /// Begins a send that is awaited later. The caller never sleeps because of an overload. The send
  /// belongs to no handler, so no cycle of waits goes through it.
  package nonisolated func begin(_ payload: Payload, accountedIn account: any DeliveryAccount) -> Completion {
    begin(payload, Completion(accountedIn: account))
  }

  nonisolated func begin(_ payload: Payload, _ completion: Completion) -> Completion {
    lend(payload) { core.deliverOrEnqueue($0, completion) }
    return completion
  }
}

extension KeyedEvent {
  /// Begins a send to a key that is awaited later: see `Event.begin(_:accountedIn:)`.
  package func begin(_ payload: Payload, to key: Key, accountedIn account: any DeliveryAccount) -> Completion {
    event.begin(KeyedPayload(key, payload), accountedIn: account)
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
