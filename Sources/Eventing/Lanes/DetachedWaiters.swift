/// After the unlock, observers are told, and sends count the calls as held.
struct DetachedWaiters {
  private(set) var calls: [Completion] = []

  mutating func detach(_ completion: Completion?) -> Completion? {
    guard let completion, completion.isToBeTold else { return completion }
    calls.append(completion)
    return completion.withoutWaiting
  }
}

extension Completion {
  var isToBeTold: Bool { unsafe (isAwaited || observed != nil && !isHeldKnown) && !staysInHand }

  /// A transport keeps the message in hand until a lock has ended, so its completion waits on.
  var staysInHand: Bool { account != nil }

  var withoutWaiting: Completion? {
    if staysInHand { return self }
    return unsafe isBound || path != nil ? Completion(withoutWaiting: context, observed, along: path) : nil
  }

  static func late(_ observed: ObservedOccurrence?) -> Completion? {
    let context = CarriedContext.current()
    return context != nil || observed != nil ? Completion(withoutWaiting: context, observed) : nil
  }
}
