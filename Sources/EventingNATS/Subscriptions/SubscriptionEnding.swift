#if NATS
  import Eventing

  /// The progress of the end of a libnats subscription, and the closures that wait for the steps of
  /// the end.
  struct SubscriptionEnding: Sendable {
    /// Whether the end has begun. Afterwards the handle belongs to the thread that ends the
    /// subscription.
    private(set) var hasBegun = false
    /// The number of messages that libnats had dropped when the subscription began to end.
    var dropped = 0
    private var isEnqueued = false
    private var isDelivered = false
    private var waitingForEnqueued: [@Sendable () -> Void] = []
    private var waitingForDelivered: [@Sendable () -> Void] = []

    /// Records that the subscription begins to end, unless an earlier call has recorded it. If the
    /// time to call `next` has come already, returns `next`. Otherwise stores `next`.
    ///
    /// - Parameter next: A closure to call when the request that ends the subscription at the
    ///   server is enqueued for sending.
    /// - Returns: In `isFirst`, whether this call is the first one. In `due`, the closure `next` if
    ///   that request is enqueued already. The caller then calls it.
    mutating func begin(_ next: @escaping @Sendable () -> Void) -> (isFirst: Bool, due: [@Sendable () -> Void]) {
      defer { hasBegun = true }
      var due: [@Sendable () -> Void] = []
      if isEnqueued { due.append(next) } else { waitingForEnqueued.append(next) }
      return (!hasBegun, due)
    }

    /// Adds a closure to call when all messages were received. If they were received already,
    /// returns the closure, which the caller then calls.
    ///
    /// The caller calls the closures that ``begin(_:)`` returned before it calls this method.
    /// Otherwise another thread might call `delivered` before them.
    mutating func whenDelivered(_ delivered: @escaping @Sendable () -> Void) -> [@Sendable () -> Void] {
      if isDelivered { return [delivered] }
      waitingForDelivered.append(delivered)
      return []
    }

    /// Removes and returns the closures that wait until the request that ends the subscription at
    /// the server is enqueued for sending. If no closure waits, records that this request is
    /// enqueued.
    ///
    /// The caller calls the closures, and then this method again, until it returns none. So each
    /// closure is called after the closures that were added before it.
    mutating func enqueued() -> [@Sendable () -> Void] {
      isEnqueued = waitingForEnqueued.isEmpty
      defer { waitingForEnqueued = [] }
      return waitingForEnqueued
    }

    /// Removes and returns the closures that wait until all messages were received. If no closure
    /// waits, records that all messages were received.
    ///
    /// The caller calls the closures, and then this method again, until it returns none, because
    /// closures may be added meanwhile: see ``enqueued()``.
    mutating func delivered() -> [@Sendable () -> Void] {
      isDelivered = waitingForDelivered.isEmpty
      defer { waitingForDelivered = [] }
      return waitingForDelivered
    }
  }

  extension Guarded<SubscriptionEnding> {
    /// Calls `step` under the mutex, and then, without the mutex, the closures that `step`
    /// returned. Repeats both until `step` returns no closure.
    ///
    /// - Parameter step: A method that records a step of the end of a subscription, and returns the
    ///   closures that waited for this step, such as ``SubscriptionEnding/enqueued()``.
    func callAll(_ step: (inout SubscriptionEnding) -> [@Sendable () -> Void]) {
      while case let closures = withLock(step), !closures.isEmpty {
        for closure in closures { closure() }
      }
    }
  }
#endif
