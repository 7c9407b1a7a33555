#if NATS
  import Eventing
  import EventingTransport

  // Publishes to a stream.
  extension NATSTransport {
    /// Publishes copies with one id until the stream has stored one.
    func store(
      _ message: Outgoing, _ room: StoredRoom, until end: ContinuousClock.Instant, _ entered: () -> Void
    ) async throws -> Receipt {
      let subject = message.subject
      var mayBeStored = false
      while true {
        let copy = room.retain()
        let outcome = await engine.exchange(
          message, until: min(end, .now + .seconds(2)), endsWhenLost: true, entered: entered
        ) { reason in
          copy.set(reason)
          room.release()
        }
        var isAnswered = true
        switch outcome {
        case .reply(let arrival) where arrival.status == nil:
          switch StoreAnswer(arrival.body) {
          case .stored(let receipt): return receipt
          case .inProgress:
            isAnswered = false
            await pause(.milliseconds(50))
          case .refused(let refusal, let reason):
            let code: TransportError.Code =
              switch refusal {
              case .comesAgain: .refused
              case .never: .rejected
              case .tooLarge: .tooLarge
              }
            throw self.refusal(
              "to store a message to \(subject); the server says: \(quoted(reason))", mayBeStored, code)
          }
        case .reply: await pause(.milliseconds(50))  // a server that is starting has no streams yet
        case .cancelled:
          throw TransportError(
            .mayBeStored, "expected a receipt for a message to \(subject); the task was cancelled before it came")
        case .late, .lost: isAnswered = false
        case .refused(let reason):
          throw refusal("to publish to \(subject); the server says: \(withoutCredentials(reason))", mayBeStored)
        case .unsent(let reason):
          throw refusal(
            "to publish to \(subject); not sent: \(withoutCredentials(reason))", mayBeStored, unsentCode(message))
        case .closed:
          throw TransportError(
            .mayBeStored, "expected a receipt for a message to \(subject); the connection was closed before it came")
        }
        let isTried = try await canStoreAgain(subject, after: copy, mayBeStored, isAnswered, until: end)
        mayBeStored = mayBeStored || !isAnswered
        if isTried { continue }
        guard mayBeStored else {
          throw TransportError(
            .refused, "expected a stream that stores \(subject) within \(engine.publishTimeout); nobody responds")
        }
        throw TransportError(
          .mayBeStored, "expected a receipt for a message to \(subject) within \(engine.publishTimeout); none came")
      }
    }

    /// For a message whose newest copy was refused, or cannot be sent. A message that is too large
    /// is never stored, whatever `mayBeStored` says.
    private func refusal(
      _ expected: String, _ mayBeStored: Bool, _ code: TransportError.Code = .refused
    ) -> TransportError {
      mayBeStored && code != .tooLarge
        ? TransportError(.mayBeStored, "expected \(expected). An earlier copy of the message may be stored")
        : TransportError(code, "expected \(expected)")
    }

    /// The client may have reconnected to a server with a smaller limit.
    private func unsentCode(_ message: Outgoing) -> TransportError.Code {
      message.size > engine.largestMessage ? .tooLarge : .refused
    }

    /// Waits until the engine has sent the newest copy: another one would only take memory
    /// meanwhile. False after the deadline.
    ///
    /// - Parameters:
    ///   - mayBeStored: An earlier copy is possibly stored, which a thrown error then says.
    ///   - isAnswered: If not, and the connection was closed, the newest copy is possibly stored,
    ///     too.
    func canStoreAgain(
      _ subject: String, after copy: OneShot<String?>, _ mayBeStored: Bool, _ isAnswered: Bool,
      until end: ContinuousClock.Instant
    ) async throws -> Bool {
      do {
        guard try await engine.reach("publish to \(subject)", until: end) else { return false }
        let reason = await withTaskCancellationHandler {
          await copy.value(until: end, or: nil)
        } onCancel: {
          copy.set(nil)
        }
        try Task.checkCancellation()
        try engine.checkOpen("publish to \(subject)")
        if let reason {
          throw refusal("to publish to \(subject); not sent: \(withoutCredentials(reason))", mayBeStored)
        }
      } catch is CancellationError where mayBeStored || !isAnswered {
        throw TransportError(
          .mayBeStored, "expected a receipt for a message to \(subject); the task was cancelled before it came")
      } catch let error as TransportError where error.code == .closed && (mayBeStored || !isAnswered) {
        throw TransportError(
          .mayBeStored, "expected a receipt for a message to \(subject); the connection was closed before it came")
      }
      return .now < end
    }
  }
#endif
