import Eventing

struct AskedQuery<Query: Sendable>: Sendable {
  let query: Query
  /// Closes when the listening that took the query ends.
  let gate: ListeningGate
  let own: QueryGate?
  let isWanted: @Sendable () -> Bool

  /// False if no responder may begin the query.
  func begin() -> Bool { gate.isOpen && isWanted() && own?.begin() ?? true }
}

/// A header of the request says how long its caller waits.
package enum RequestCaller {
  /// If the engine does not know, the limit in the headers counts, from the arrival.
  package static func waiting(for message: RemoteMessage) -> @Sendable () -> Bool {
    if let isWanted = message.queryGate?.isWanted { return isWanted }
    guard let text = message.headers[HeaderName.limit], let limit = Int64(text) else { return { true } }
    let end = ContinuousClock.now + .milliseconds(min(max(limit, 0), longestLimit))
    return { ContinuousClock.now < end }
  }

  static func header(_ limit: Duration) -> String {
    let (seconds, rest) = max(limit, .zero).components
    return "\(min(seconds, longestLimit / 1_000) * 1_000 + rest / 1_000_000_000_000_000)"
  }

  /// A hundred years, in milliseconds.
  private static let longestLimit: Int64 = 100 * 366 * 86_400 * 1_000
}

/// Decides, once, whether a responder begins a query. If the engine closes while the query waits on
/// the lane of a responder, the engine answers that there is none.
package final class QueryGate: Sendable {
  private enum State {
    /// May not wait for a responder, so it counts as begun.
    case given
    /// The engine closed before the query could wait.
    case late
    case waiting, begun, refused
  }

  private let state = Guarded(State.given)
  package let isWanted: (@Sendable () -> Bool)?

  /// - Parameter isWanted: Whether the caller still waits; `nil` if the engine does not know.
  package init(isWanted: (@Sendable () -> Bool)? = nil) { self.isWanted = isWanted }

  func hold() { state.withLock { if $0 == .given { $0 = .waiting } } }

  /// A responder begins the query. False if the engine has closed.
  func begin() -> Bool {
    state.withLock { state in
      if state == .waiting { state = .begun }
      return state == .begun || state == .given
    }
  }

  /// The engine closes. Returns whether the query was waiting: the engine then answers it.
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

  package var isRefused: Bool { state.withLock { $0 == .refused } }
}

/// No responder begins a query after the listening has ended.
final class ListeningGate: Sendable {
  private let isEnded = Guarded(false)

  var isOpen: Bool { isEnded.withLock { !$0 } }

  func end() { isEnded.withLock { $0 = true } }
}

/// `cancel()` closes the gate at once, `drain(within:)` when received queries are answered, or at
/// the limit. Needed because the engine cannot take back queries that wait on the lane of a
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
