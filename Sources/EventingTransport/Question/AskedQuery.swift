import Eventing

/// A query as the responders receive it, with what says whether a responder may still begin it.
struct AskedQuery<Query: Sendable>: Sendable {
  let query: Query
  /// The gate of the listening that took the query. It closes when that listening ends.
  let gate: ListeningGate
  /// The gate of this query; `nil` if the engine has given it none.
  let own: QueryGate?
  /// Returns whether the caller still waits for the answer.
  let isWanted: @Sendable () -> Bool

  /// Returns whether a responder may begin the query.
  func begin() -> Bool { gate.isOpen && isWanted() && own?.begin() ?? true }
}

/// Tells by a header of the request how long its caller waits, and so whether it still does.
package enum RequestCaller {
  /// Returns a closure that returns whether the caller of a request that arrives now still waits.
  /// If the engine does not know, the limit in the headers counts, from the arrival.
  package static func waiting(for message: RemoteMessage) -> @Sendable () -> Bool {
    if let isWanted = message.queryGate?.isWanted { return isWanted }
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

/// Decides, once for each query, whether a responder begins it, or the engine answers that there is
/// no responder. The engine does so when it closes while the query waits on the lane of a
/// responder.
package final class QueryGate: Sendable {
  private enum State {
    /// The query may not wait for a responder, so it counts as begun.
    case given
    /// The engine has closed before the query could wait.
    case late
    case waiting, begun, refused
  }

  private let state = Guarded(State.given)
  /// Returns whether the caller still waits; `nil` if the engine does not know.
  package let isWanted: (@Sendable () -> Bool)?

  /// - Parameter isWanted: Returns whether the caller still waits; `nil` if the engine does not
  ///   know.
  package init(isWanted: (@Sendable () -> Bool)? = nil) { self.isWanted = isWanted }

  /// Records that the query may wait for a responder.
  func hold() { state.withLock { if $0 == .given { $0 = .waiting } } }

  /// Records that a responder begins the query. Returns false if the engine has closed.
  func begin() -> Bool {
    state.withLock { state in
      if state == .waiting { state = .begun }
      return state == .begun || state == .given
    }
  }

  /// Records that the engine closes. Returns whether the query was waiting: the engine then answers
  /// it.
  package func refuse() -> Bool {
    state.withLock { state in
      switch state {
      case .given: state = .late
      case .waiting:
        state = .refused
        return true
      case .late, .begun, .refused: break
      }
      return false
    }
  }

  /// Whether the engine has answered the query.
  package var isRefused: Bool { state.withLock { $0 == .refused } }
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
