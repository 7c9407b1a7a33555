#if NATS
  import Dispatch
  import Eventing
  import EventingTransport
  import Foundation

  final class SubscriptionReceiver: Sendable {
    let receive: @Sendable (Arrival) -> Void
    /// Signaled when the last message was received.
    let completed = DispatchSemaphore(value: 0)
    init(_ receive: @escaping @Sendable (Arrival) -> Void) { self.receive = receive }
  }

  extension LibraryConnection {
    /// Blocks until the server has confirmed the subscription.
    ///
    /// - Parameters:
    ///   - limit: For the buffer of libnats; `nil` for none.
    ///   - receive: Called with one message at a time, on a thread of libnats. Must not block.
    func subscribe(
      _ subject: String, group: String?, limit: Int?, within wait: Duration = .seconds(3),
      _ receive: @escaping @Sendable (Arrival) -> Void
    ) throws -> LibrarySubscription {
      let (watch, lastBefore) = (connectionEvents.watchErrors(), lastError)  // so no error is missed
      defer { connectionEvents.endWatch(watch) }
      let receiver = SubscriptionReceiver(receive)
      do {
        let handle = try makeSubscription(subject, group: group, receiver)
        let subscription = LibrarySubscription(handle, self, receiver.completed)  // its `deinit` ends it
        try handle.setLimit(limit)
        do { try flush(within: wait) } catch {
          if isClosed { throw error }
          throw TransportError(
            error.isLate ? .timedOut : .refused,
            "expected the server to take a subscription to \(subject) within \(wait); it did not")
        }
        if let error = watch.refusal(of: subject, last: lastError, before: lastBefore) {
          let text = connectionEvents.secrets.hide(in: error)
          throw TransportError(
            .refused, "expected the permission to subscribe to \(subject); the server says: \(text)")
        }
        return subscription
      } catch let error as LibraryError {
        guard isClosed else { throw error.refused("to subscribe to \(subject)") }
        // The server has ended the connection, perhaps because of this subscription.
        let text = connectionEvents.secrets.hide(in: lastError)
        throw TransportError(
          .refused, "expected the server to take a subscription to \(subject); it says: \(quoted(text))")
      }
    }
  }

  final class LibrarySubscription: Sendable {
    private let handle: SubscriptionHandle
    private let connection: LibraryConnection
    private let completed: DispatchSemaphore
    private let ending = Guarded(SubscriptionEnding())

    init(_ handle: SubscriptionHandle, _ connection: LibraryConnection, _ completed: DispatchSemaphore) {
      self.handle = handle
      self.connection = connection
      self.completed = completed
    }

    deinit { end() }

    var dropped: Int {
      // The handle is read under the mutex. While the end has not begun, no thread destroys the
      // handle.
      ending.withLock { ending in ending.hasBegun ? ending.dropped : handle.dropped }
    }

    /// libnats drops no more afterwards.
    private func lastDropped() -> Int {
      try? handle.setLimit(nil)
      return handle.dropped
    }

    var limit: Int? {
      ending.withLock { ending in ending.hasBegun ? nil : handle.limit }
    }

    /// Returns at once; further messages may arrive for a short time. If a step is over already,
    /// calls its closure before the return.
    ///
    /// - Parameters:
    ///   - next: Called when the request for the end is enqueued for sending.
    ///   - delivered: Called when all messages that the server had sent were received, or the
    ///     connection is closed.
    func end(
      _ next: @escaping @Sendable () -> Void = {}, delivered: @escaping @Sendable () -> Void = {}
    ) {
      let (isFirst, due) = ending.withLock { ending in
        if !ending.hasBegun { ending.dropped = lastDropped() }
        return ending.begin(next)
      }
      for closure in due { closure() }
      // `next` must be called before `delivered`. An earlier call of `end` may have started the
      // thread below, and that thread may call `delivered` as soon as `delivered` is added. So
      // `delivered` is added only here, after the loop above, which may have had to call `next`.
      for closure in ending.withLock({ $0.whenDelivered(delivered) }) { closure() }
      guard isFirst else { return }
      // From here on, only the new thread uses the handle.
      Foundation.Thread.detachNewThread { [handle, connection, completed, ending] in
        let drains = handle.drain(within: .seconds(2))
        ending.callAll { $0.enqueued() }
        // If the connection is closed, libnats refuses to drain the subscription, and the server's
        // messages no longer arrive. So the closures are called without a wait for the completion
        // callback.
        if !drains { ending.callAll { $0.delivered() } }
        // If the completion callback never runs, the subscription is not destroyed: its message
        // callback may still run.
        let isComplete = completed.wait(timeout: .now() + 60) == .success
        if isComplete { handle.destroy() }  // before a wait for the end returns
        ending.callAll { $0.delivered() }
        withExtendedLifetime(connection) {}
      }
    }

    /// Waits until all messages that the server had sent were received. `delivered` is called then,
    /// even after the time.
    func end(
      waitingUntil end: ContinuousClock.Instant, delivered: @escaping @Sendable () -> Void = {}
    ) async {
      let isDelivered = OneShot<Void>()
      self.end(delivered: {
        isDelivered.set(())
        delivered()
      })
      await isDelivered.value(until: end, or: ())
    }
  }
#endif
