import Eventing

/// A query of another process on its way to the responders, with the listening that took it.
struct AskedQuery<Query: Sendable>: Sendable, CustomStringConvertible {
  let query: Query
  let gate: ListeningGate

  /// The query, for the errors of the question.
  var description: String { "\(query)" }
}

/// Whether a listening of a question still takes queries. No responder begins one after its end.
final class ListeningGate: Sendable {
  private let isEnded = Guarded(false)

  var isOpen: Bool { isEnded.withLock { !$0 } }

  func end() { isEnded.withLock { $0 = true } }
}

/// A subscription of a question, whose gate ends before its end returns.
///
/// What waits on the lane of a responder has left the engine, so the engine cannot take it back.
final class GatedSubscription: TransportSubscription {
  private let base: any TransportSubscription
  private let gate: ListeningGate

  init(_ base: any TransportSubscription, _ gate: ListeningGate) {
    self.base = base
    self.gate = gate
  }

  func readinessChanged() { base.readinessChanged() }

  func drain(within limit: Duration) async {
    await base.drain(within: limit)
    gate.end()
  }

  func cancel() {
    gate.end()
    base.cancel()
  }
}
