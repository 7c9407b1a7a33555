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

extension Delivery {
  @usableFromInline @inline(never) func noteLeftOut() { completion?.account?.noteLeftOut() }
}

extension Event {
  /// Never sleeps because of an overload and can't be part of a cycle of waits.
  package nonisolated func begin(_ payload: Payload, accountedIn account: any DeliveryAccount) -> Completion {
    begin(payload, Completion(.send, accountedIn: account, isPartOfCall: false))
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

package final class ReadinessListener: Sendable {
  let announce: @Sendable (_ isFinished: Bool) -> Void

  init(_ announce: @escaping @Sendable (_ isFinished: Bool) -> Void) { self.announce = announce }
}

extension HandlerRegistry {
  /// Ignores interceptors. O(1), or O(*n*) if the first *n* handlers don't count.
  package nonisolated func mayDeliver(countsLocked: Bool) -> Bool {
    handlerTable.allSatisfy { $0.mayDeliver(countsLocked) }
  }

  /// The closure runs on the thread that made the change, possibly inside the event, with no mutex
  /// held, and must not wait. Set once, before the event is shared.
  package nonisolated func onReadiness(_ announce: @escaping @Sendable (_ isFinished: Bool) -> Void) {
    handlerTable.forEach { _ = $0.rareState.readinessReference.set(ReadinessListener(announce)) }
  }
}

extension EventCore {
  fileprivate func mayDeliver(_ countsLocked: Bool) -> Bool {
    mutex.withLock {
      guard unsafe !isEventLocked, unsafe !isFinished else { return false }
      if unsafe table.hasHandler(countsLocked) { return true }
      guard let rareState = rareStateReference.load() else { return false }
      if unsafe !rareState.mailbox.newHandlers.isEmpty { return true }
      return unsafe rareState.keyIndex?.tables.contains { unsafe $0.table.hasHandler(countsLocked) } ?? false
    }
  }
}

extension EventCore {
  /// Never called under a mutex.
  func announceReadiness(isFinished: Bool = false) {
    // Safe: the core retains it.
    guard let rareState = unsafe rareStateReference.lend() else { return }
    unsafe rareState._withUnsafeGuaranteedRef { $0.readinessReference.load()?.announce(isFinished) }
  }
}

extension PriorityTable {
  /// The caller holds `core.mutex`.
  fileprivate func hasHandler(_ countsLocked: Bool) -> Bool {
    var next = unsafe first
    while let bucket = unsafe next {
      for i in unsafe 0..<Int(bucket.pointee.count) {
        if unsafe counts((bucket.pointee.slots + i).pointee.record, countsLocked) { return true }
      }
      unsafe next = unsafe bucket.pointee.next
    }
    return false
  }

  private func counts(_ record: HandlerRecord, _ countsLocked: Bool) -> Bool {
    let flags = record.state.load(ordering: .acquiring)
    guard unsafe record.index >= 0, flags & HandlerFlags.ended == 0 else { return false }
    if !countsLocked, flags & HandlerFlags.lockedAtAll != 0, flags & HandlerFlags.isHolding == 0 { return false }
    return record.details?.options.isInterceptor != true
  }
}
