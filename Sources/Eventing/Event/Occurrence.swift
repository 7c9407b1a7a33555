/// One send through one event.
public struct Occurrence<Payload: Sendable>: Sendable {
  /// What was sent.
  public let payload: Payload
  /// Who sent it, if that was said and it is still alive.
  public weak let sender: (any AnyObject & Sendable)?
  /// The name of the event.
  public let eventName: String?
  /// Its place in the order of the event; the first is 1.
  public let sequence: UInt64
  /// When its delivery began.
  public let instant: ContinuousClock.Instant
}

extension Occurrence: CustomStringConvertible {
  /// In one line.
  public var description: String { "\(eventName ?? "event") #\(sequence): \(payload)" }
}
