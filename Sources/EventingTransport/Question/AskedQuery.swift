import Eventing

/// A query as the responders receive it, with what says whether a responder may still begin it.
struct AskedQuery<Query: Sendable>: Sendable {
  let query: Query
  /// The gate of the listening that took the query. It closes when that listening ends.
  let gate: ListeningGate
  /// Returns whether the caller still waits for the answer.
  let isWanted: @Sendable () -> Bool

  var mayBegin: Bool { gate.isOpen && isWanted() }
}

/// Says whether the caller of a request still waits. An engine that knows binds ``isWaiting`` around
/// the closure that it got from ``Transport/respond(to:group:inFlight:_:)``.
package enum RequestCaller {
  /// Returns whether the caller still waits; `nil` if the engine does not know. Then the limit in
  /// the headers of the request counts, from its arrival.
  @TaskLocal package static var isWaiting: (@Sendable () -> Bool)?

  /// Returns whether the caller of a request that arrives now still waits.
  static func waiting(for message: RemoteMessage) -> @Sendable () -> Bool {
    if let isWaiting { return isWaiting }
    guard let text = message.headers[HeaderName.limit], let limit = Int64(text) else { return { true } }
    let end = ContinuousClock.now + .milliseconds(min(max(limit, 0), longestLimit))
    return { ContinuousClock.now < end }
  }

  /// Returns the limit of a request, in milliseconds, for the header.
  static func header(_ limit: Duration) -> String {
    let (seconds, rest) = max(limit, .zero).components
    return "\(min(seconds, longestLimit / 1_000) * 1_000 + rest / 1_000_000_000_000_000)"
  }

  /// A hundred years, in milliseconds.
  private static let longestLimit: Int64 = 100 * 366 * 86_400 * 1_000
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
