/// An element of a sequence that also shows where payloads were dropped; see
/// ``EventSource/arrivals(buffering:)``.
public enum Arrival<Payload: Sendable>: Sendable {
  /// The next payload.
  case payload(Payload)
  /// The number of payloads that were dropped at this place.
  case lagged(Int)
}

extension Arrival: Equatable where Payload: Equatable {}
extension Arrival: Hashable where Payload: Hashable {}
