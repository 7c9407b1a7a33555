/// One send through one event.
public struct EventOccurrence<Payload: Sendable>: Sendable {
  /// The value that was sent.
  public let payload: Payload
  /// The object that sent it; `nil` if none was given or it has been released.
  public weak let sender: (any AnyObject & Sendable)?
  /// The name of the event; `nil` if it has none.
  public let eventName: String?
  /// The position in the event's order. An event's first occurrence has number 1.
  public let sequence: UInt64
  /// The instant at which delivery began.
  public let instant: ContinuousClock.Instant
}

extension EventOccurrence {
  func with<Other: Sendable>(_ payload: Other) -> EventOccurrence<Other> {
    EventOccurrence<Other>(payload: payload, sender: sender, eventName: eventName, sequence: sequence, instant: instant)
  }
}

extension EventOccurrence: CustomStringConvertible {
  /// One line for a log.
  public var description: String { "\(eventName ?? "event") #\(sequence): \(payload)" }
}
