#if NATS
  import Eventing

  struct SubscriptionEnding: Sendable {
    /// Afterwards the handle belongs to the thread that ends the subscription.
    private(set) var hasBegun = false
    /// The number of drops when the end began.
    var dropped = 0
    private var isEnqueued = false
    private var isDelivered = false
    private var waitingForEnqueued: [@Sendable () -> Void] = []
    private var waitingForDelivered: [@Sendable () -> Void] = []

    /// The caller calls `due`: the closure, if the request for the end is enqueued already.
    /// Otherwise the closure is stored.
    mutating func begin(_ next: @escaping @Sendable () -> Void) -> (isFirst: Bool, due: [@Sendable () -> Void]) {
      defer { hasBegun = true }
      var due: [@Sendable () -> Void] = []
      if isEnqueued { due.append(next) } else { waitingForEnqueued.append(next) }
      return (!hasBegun, due)
    }

    /// The caller calls the returned closures, after those of ``begin(_:)``.
    mutating func whenDelivered(_ delivered: @escaping @Sendable () -> Void) -> [@Sendable () -> Void] {
      if isDelivered { return [delivered] }
      waitingForDelivered.append(delivered)
      return []
    }

    /// Called again, after the closures, until there are none, so that each is called after earlier
    /// ones. Then the request for the end counts as enqueued.
    mutating func enqueued() -> [@Sendable () -> Void] {
      isEnqueued = waitingForEnqueued.isEmpty
      defer { waitingForEnqueued = [] }
      return waitingForEnqueued
    }

    /// Like ``enqueued()``, for the receipt of all messages.
    mutating func delivered() -> [@Sendable () -> Void] {
      isDelivered = waitingForDelivered.isEmpty
      defer { waitingForDelivered = [] }
      return waitingForDelivered
    }
  }

  extension Guarded<SubscriptionEnding> {
    /// Calls `step` under the mutex, and the returned closures without it, until `step` returns none.
    func callAll(_ step: (inout SubscriptionEnding) -> [@Sendable () -> Void]) {
      while case let closures = withLock(step), !closures.isEmpty {
        for closure in closures { closure() }
      }
    }
  }
#endif
