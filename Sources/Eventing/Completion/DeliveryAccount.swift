package import Synchronization

/// A transport acknowledges an occurrence that handlers have handled. Each decision that leaves a
/// handler out for a property of this very occurrence is noted by ``noteLeftOut()``: every other
/// skip means that the handler has not handled it. Called under no mutex, also inside the event.
package protocol DeliveryAccount: AnyObject, Sendable {
  var origin: (any Sendable)? { get }
  var isRepeated: Bool { get }
  var makeMark: (@Sendable () -> any OccurrenceMark)? { get }
  func tell(_ fate: OccurrenceFate)
  ///
  /// - Parameter isWhole: Whether each occurrence of the batch has an account.
  func joined(with others: some Collection<any DeliveryAccount>, isWhole: Bool) -> any DeliveryAccount
  func noteLeftOut()
  /// An interceptor that stops an occurrence has handled it; one that lets it pass has not.
  func noteIntercepted(stops isStop: Bool)
  func noteLock()
  func noteReplaced()
  func noteForward()
  func note(_ outcome: Outcome)
  func note(_ outcomes: SendReport)
}

package final class OccurrenceFate: Sendable {
  package let isHandedBack = Atomic<Bool>(false)
  package init() {}
}

extension DeliveryAccount {
  func makeFate() -> OccurrenceFate {
    let fate = OccurrenceFate()
    tell(fate)
    return fate
  }
}

extension Delivery {
  @usableFromInline @inline(never) func noteLeftOut() { completion?.account?.noteLeftOut() }
}

extension Event {
  /// Never sleeps because of an overload. No cycle of waits goes through it.
  package nonisolated func begin(_ payload: Payload, accountedIn account: any DeliveryAccount) -> Completion {
    begin(payload, Completion(accountedIn: account))
  }

  nonisolated func begin(_ payload: Payload, _ completion: Completion) -> Completion {
    lend(payload) { core.deliverOrEnqueue($0, completion) }
    return completion
  }
}

extension KeyedEvent {
  package func begin(_ payload: Payload, to key: Key, accountedIn account: any DeliveryAccount) -> Completion {
    event.begin(KeyedPayload(key, payload), accountedIn: account)
  }
}

extension EventCore {
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
