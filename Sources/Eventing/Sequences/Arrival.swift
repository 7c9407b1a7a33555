/// What a sequence yields that counts its losses.
public enum Arrival<Payload: Sendable>: Sendable {
  /// The next payload.
  case payload(Payload)
  /// So many were dropped here.
  case lagged(Int)
}

extension Arrival: Equatable where Payload: Equatable {}
extension Arrival: Hashable where Payload: Hashable {}
