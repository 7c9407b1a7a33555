/// The completions that are removed from the items of a lane when a lock that holds occurrences
/// pauses the lane.
///
/// The removal happens under the mutex of the lane. After the mutex is released, observers are
/// told, and sends count the call as held. So nothing waits for the paused lane.
struct DetachedWaiters {
  private(set) var calls: [Completion] = []

  /// Removes the waiters of a call. Returns the completion that the call keeps; `nil` if it keeps
  /// none.
  mutating func detach(_ completion: Completion?) -> Completion? {
    guard let completion, completion.isToBeTold else { return completion }
    calls.append(completion)
    return completion.withoutWaiting
  }
}

extension Completion {
  /// Whether a waiter or an observer must be told that a lock holds the occurrence.
  var isToBeTold: Bool { unsafe (isAwaited || observed != nil && !isHeldKnown) && !staysInHand }

  /// Whether the completion goes on waiting while a lock holds the occurrence. True if a transport
  /// brought the occurrence: it keeps the message in hand until the lock has ended, and does not
  /// bring it again meanwhile.
  var staysInHand: Bool { account != nil }

  /// A new completion with the context and the observers of this one, but without waiters; `nil` if
  /// this completion has neither context nor observers. If ``staysInHand`` is true, this
  /// completion.
  ///
  /// If a lock holds an item on a paused lane, the item gets the new completion in place of this
  /// one. So the waiters of this completion no longer wait for the item.
  var withoutWaiting: Completion? {
    if staysInHand { return self }
    return unsafe isBound ? Completion(withoutWaiting: context, observed) : nil
  }

  /// Returns a completion for an occurrence that was to be handled at once, and now waits on a
  /// lane; `nil` if the occurrence has neither carried values nor observers.
  static func late(_ observed: ObservedOccurrence?) -> Completion? {
    let context = CarriedContext.current()
    return context != nil || observed != nil ? Completion(withoutWaiting: context, observed) : nil
  }
}
