#if NATS
  import Eventing

  // Messages that the server or a responder answers.
  extension Engine {
    /// - Parameters:
    ///   - endsWhenLost: The wait ends as soon as a lost connection is restored.
    ///   - entered: Called when the message has its place among all messages of the connection.
    ///   - sent: Called once: with `nil` when the message was sent, or with the reason why it never
    ///     will be.
    func exchange(
      _ message: Outgoing, until deadline: ContinuousClock.Instant, endsWhenLost: Bool, entered: () -> Void = {},
      sent: @escaping @Sendable (String?) -> Void = { _ in }
    ) async -> PendingRequests.Outcome {
      let (token, outcome) = beginExchange(message, until: deadline, endsWhenLost: endsWhenLost, sent)
      entered()
      return await withTaskCancellationHandler {
        await outcome.value
      } onCancel: {
        pendingRequests.end(token, .cancelled)
      }
    }

    /// Returns the result, which is set later, and the key in ``PendingRequests``. See
    /// ``exchange(_:until:endsWhenLost:entered:sent:)``.
    func beginExchange(
      _ message: Outgoing, until deadline: ContinuousClock.Instant, endsWhenLost: Bool,
      _ sent: @escaping @Sendable (String?) -> Void = { _ in }
    ) -> (token: UInt64, outcome: OneShot<PendingRequests.Outcome>) {
      let (token, outcome) = pendingRequests.begin(message.subject, until: deadline, endsWhenLost: endsWhenLost)
      var message = message
      if !endsWhenLost {
        // The request may still be in the send queue when the wait for its reply ends, by a
        // cancellation or at the deadline. Then it is not sent.
        message.isNeeded = { [pendingRequests] in pendingRequests.isPending(token) }
      }
      message.reply = "\(inboxPrefix).r.\(String(token, radix: 36))"
      message.isSent = { [pendingRequests] reason in
        sent(reason)
        if let reason { pendingRequests.end(token, .unsent(reason)) }
      }
      sendQueue.send(message)
      return (token, outcome)
    }
  }
#endif
