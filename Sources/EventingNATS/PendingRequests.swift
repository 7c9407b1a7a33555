#if NATS
  import Eventing
  import EventingTransport

  /// Messages that wait for a reply, in the send queue or sent. The key is the last word of the
  /// subject for the reply.
  final class PendingRequests: Sendable {
    enum Outcome: Sendable {
      case reply(Arrival)
      case late
      /// The connection was restored since. The message may have been sent.
      case lost
      /// This connection must not publish to the subject.
      case refused(String)
      case unsent(String)
      case closed
      case cancelled
    }

    /// After a reply that is no answer, a request waits this long for other replies.
    static let graceTime = Duration.milliseconds(500)

    private struct Entry: Sendable {
      let subject: String
      var deadline: ContinuousClock.Instant
      /// At the deadline, this is the result.
      var refusal: Arrival?
      let outcome: OneShot<Outcome>
      /// The request ends when the connection is restored, not when it is lost.
      let endsWhenLost: Bool
    }

    private struct State: Sendable {
      var entries: [UInt64: Entry] = [:]
      var last: UInt64 = 0
      var isClosed = false
    }

    private let state = Guarded(State())

    var isEmpty: Bool { state.withLock { $0.entries.isEmpty } }

    func isPending(_ token: UInt64) -> Bool { state.withLock { $0.entries[token] != nil } }

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

    func end(_ token: UInt64, _ outcome: Outcome) {
      state.withLock { $0.entries.removeValue(forKey: token) }?.outcome.set(outcome)
    }

    /// If the reply is no answer, goes on for ``graceTime``: another process may have one.
    func reply(_ token: UInt64, _ arrival: Arrival) {
      guard arrival.headers[MessageHeader.failure] != nil else { return end(token, .reply(arrival)) }
      let deadline = ContinuousClock.now + PendingRequests.graceTime
      state.withLock { state in
        guard var entry = state.entries[token], entry.refusal == nil else { return }
        (entry.refusal, entry.deadline) = (arrival, min(entry.deadline, deadline))
        state.entries[token] = entry
      }
    }

    func expire(_ now: ContinuousClock.Instant) { end(.late) { $0.deadline <= now } }

    func connectionWasLost() { end(.lost) { $0.endsWhenLost } }

    /// The server refused to publish to a subject. If libnats has cut its end, and several pending
    /// subjects have that beginning, ends none.
    ///
    /// - Parameter shown: Without secrets, for the results. The subject is not searched in it,
    ///   because it may contain one.
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

    /// Later requests end at once.
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
