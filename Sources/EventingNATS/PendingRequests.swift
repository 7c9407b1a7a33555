#if NATS
  import Eventing
  import EventingTransport

  /// The messages that wait for a reply. Some may still be in the send queue, not yet written to
  /// the socket. The key of a message is the last word of the subject for its reply.
  final class PendingRequests: Sendable {
    /// The result of a request.
    enum Outcome: Sendable {
      case reply(Arrival)
      case late
      /// The connection was lost and restored, perhaps after the message was sent.
      case lost
      /// The server refused the message, because this connection must not publish to the subject.
      case refused(String)
      /// The message cannot be sent.
      case unsent(String)
      case closed
      case cancelled
    }

    /// The time for which a request waits for other replies, after a reply that is no answer.
    static let graceTime = Duration.milliseconds(500)

    private struct Entry: Sendable {
      let subject: String
      var deadline: ContinuousClock.Instant
      /// The first reply that is no answer. At the deadline, it is the result.
      var refusal: Arrival?
      let outcome: OneShot<Outcome>
      /// Whether a loss of the connection ends the request. The request then ends when the
      /// connection is restored, not when it is lost.
      let endsWhenLost: Bool
    }

    private struct State: Sendable {
      var entries: [UInt64: Entry] = [:]
      var last: UInt64 = 0
      var isClosed = false
    }

    private let state = Guarded(State())

    /// Whether no message waits for a reply.
    var isEmpty: Bool { state.withLock { $0.entries.isEmpty } }

    /// Returns whether a request has not ended.
    func isPending(_ token: UInt64) -> Bool { state.withLock { $0.entries[token] != nil } }

    /// Begins a request. Returns its key, and its result, which is set later.
    func begin(
      _ subject: String, until deadline: ContinuousClock.Instant, endsWhenLost: Bool
    ) -> (token: UInt64, outcome: OneShot<Outcome>) {
      let outcome = OneShot<Outcome>()
      let (token, isClosed) = state.withLock { state in
        state.last += 1
        if !state.isClosed {
          state.entries[state.last] = Entry(
            subject: subject, deadline: deadline, outcome: outcome, endsWhenLost: endsWhenLost)
        }
        return (state.last, state.isClosed)
      }
      if isClosed { outcome.set(.closed) }
      return (token, outcome)
    }

    /// Ends one request.
    func end(_ token: UInt64, _ outcome: Outcome) {
      state.withLock { $0.entries.removeValue(forKey: token) }?.outcome.set(outcome)
    }

    /// Ends a request with a reply. If the reply says that its responder has no answer, the request
    /// goes on for ``graceTime``, because another process may have an answer.
    func reply(_ token: UInt64, _ arrival: Arrival) {
      guard arrival.headers[MessageHeader.failure] != nil else { return end(token, .reply(arrival)) }
      let deadline = ContinuousClock.now + PendingRequests.graceTime
      state.withLock { state in
        guard var entry = state.entries[token], entry.refusal == nil else { return }
        (entry.refusal, entry.deadline) = (arrival, min(entry.deadline, deadline))
        state.entries[token] = entry
      }
    }

    /// Ends the requests whose deadline has passed.
    func expire(_ now: ContinuousClock.Instant) { end(.late) { $0.deadline <= now } }

    /// Ends the requests whose `endsWhenLost` is true, after a lost connection was restored.
    func connectionWasLost() { end(.lost) { $0.endsWhenLost } }

    /// Ends the requests whose subject an error text names, because the server refused to publish
    /// to it. libnats cuts the end of a long text. If only the beginning of the subject is left,
    /// and several pending subjects have that beginning, ends none.
    ///
    /// - Parameters:
    ///   - text: The error text of the server.
    ///   - shown: The error text with `…` in place of secrets, for the results of the requests. The
    ///     subject is not searched in it, because it may contain one of the secrets.
    func fail(_ text: String, shown: String) {
      guard text.contains("for Publish to") else { return }
      var (whole, cut): (Set<String>, Set<String>) = ([], [])
      for subject in state.withLock({ Set($0.entries.values.map(\.subject)) }) {
        switch RefusedSubject(subject, for: .publish).match(in: text) {
        case .whole: whole.insert(subject)
        case .cut: cut.insert(subject)
        case nil: break
        }
      }
      let named = whole.isEmpty && cut.count == 1 ? cut : whole
      if !named.isEmpty { end(.refused(shown)) { entry in named.contains(entry.subject) } }
    }

    /// Ends all requests. Later ones end at once.
    func close() {
      state.withLock { $0.isClosed = true }
      end(.closed) { _ in true }
    }

    private func end(_ outcome: Outcome, _ condition: (Entry) -> Bool) {
      let ended = state.withLock { state -> [Entry] in
        guard state.entries.contains(where: { condition($0.value) }) else { return [] }
        let ended = state.entries.filter { condition($0.value) }
        for token in ended.keys { state.entries[token] = nil }
        return ended.sorted { $0.key < $1.key }.map(\.value)  // in the order in which they began
      }
      for entry in ended {
        if case .late = outcome, let refusal = entry.refusal {
          entry.outcome.set(.reply(refusal))
        } else {
          entry.outcome.set(outcome)
        }
      }
    }
  }
#endif
