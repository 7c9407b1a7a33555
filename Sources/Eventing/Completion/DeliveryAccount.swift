package import Synchronization

/// A transport acknowledges an occurrence once handlers have handled it. If a property of the
/// occurrence itself keeps a handler from it, ``noteLeftOut()`` is called; any other skip means
/// that the handler hasn't handled it. All methods are called with no mutex held, possibly inside
/// the event.
package protocol DeliveryAccount: AnyObject, Sendable {
  var origin: (any Sendable)? { get }
  var isRepeated: Bool { get }
  var makeMark: (@Sendable () -> any OccurrenceMark)? { get }
  func tell(_ fate: OccurrenceFate)
  /// - Parameter isWhole: Whether every occurrence of the batch has an account.
  func joined(with others: some Collection<any DeliveryAccount>, isWhole: Bool) -> any DeliveryAccount
  func noteLeftOut()
  /// An interceptor has handled an occurrence if it stops it, but not if it lets it pass.
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
  /// Never sleeps because of an overload and can't be part of a cycle of waits.
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
