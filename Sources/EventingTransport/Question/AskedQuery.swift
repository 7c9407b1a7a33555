import Eventing

/// A query as the responders receive it, with the gate of the listening that took the query. The
/// gate closes when that listening ends, and no responder begins the query afterwards.
struct AskedQuery<Query: Sendable>: Sendable, CustomStringConvertible {
  let query: Query
  let gate: ListeningGate

  /// The query as text, for error messages of the question.
  var description: String { "\(query)" }
}

/// A gate that closes when the listening of a question ends. No responder begins a query
/// afterwards.
final class ListeningGate: Sendable {
  private let isEnded = Guarded(false)

  var isOpen: Bool { isEnded.withLock { !$0 } }

  func end() { isEnded.withLock { $0 = true } }
}

/// The subscription of a question's listening, with the gate of this listening. Responders begin
/// queries only while the gate is open. `cancel()` closes the gate at once. `drain(within:)` closes
/// the gate when the queries that the engine had received are answered, or at the limit.
///
/// The gate is needed because the engine cannot take back queries that wait on the lane of a
/// responder.
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
