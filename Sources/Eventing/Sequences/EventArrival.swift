/// An element of a sequence that also shows where payloads were dropped; see
/// ``EventSource/arrivals(named:buffering:)``.
public enum EventArrival<Payload: Sendable>: Sendable {
  /// The next payload.
  case payload(Payload)
  /// The number of payloads that were dropped at this place.
  case dropped(Int)
}

extension EventArrival: Equatable where Payload: Equatable {}
extension EventArrival: Hashable where Payload: Hashable {}
