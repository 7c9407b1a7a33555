#if NATS
  import Dispatch
  import Eventing

  /// Collects the error texts of the server while one subscription is being made.
  final class ErrorWatch: Sendable {
    private let collected = Guarded<[String]>([])
    private let arrival = DispatchSemaphore(value: 0)

    /// The error texts, in order.
    var texts: [String] { collected.withLock { $0 } }

    func add(_ text: String) {
      collected.withLock { $0.append(text) }
      arrival.signal()
    }

    /// Returns the error text with which the server has refused a subscription; `nil` if it has
    /// not. Blocks for at most a second.
    ///
    /// libnats reports errors in order, on another thread, and stores only the last one in the
    /// connection. The refusal, if there is one, is the stored error or came before it. So this
    /// method waits until the stored error is reported, if it differs from `lastBefore` or names
    /// the subject.
    ///
    /// - Parameters:
    ///   - subject: The subject of the subscription.
    ///   - last: The last error that libnats has stored in the connection.
    ///   - lastBefore: The last error that was stored when this object began to collect errors.
    func refusal(of subject: String, last: String, before lastBefore: String) -> String? {
      let subject = RefusedSubject(subject, for: .subscribe)
      let mustWait = !last.isEmpty && (last != lastBefore || subject.match(in: last) != nil)
      let end = DispatchTime.now() + 1
      while mustWait, !texts.contains(last), arrival.wait(timeout: end) == .success {}
      return texts.first { subject.match(in: $0) != nil }
    }
  }
#endif
