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

/// An event's name, number and payload type, as a value.
///
/// Each ``EventStep`` identifies its event this way, and ``Event/identity`` returns it. An identity
/// doesn't keep its event alive. Two identities are equal if their numbers are equal.
public struct EventIdentity: Sendable {
  /// The name of the event; `nil` if it has none. Several events may share a name.
  public let name: String?
  /// A number that no other event ever has in this process.
  public let number: UInt64
  /// The type of the payloads; for a keyed event, the type of a key-payload pair.
  public let payloadType: Any.Type
}

extension EventIdentity: Hashable {
  /// Returns whether two identities belong to the same event.
  public static func == (a: EventIdentity, b: EventIdentity) -> Bool { a.number == b.number }
  /// Hashes the number.
  public func hash(into hasher: inout Hasher) { hasher.combine(number) }
}

extension EventIdentity: CustomStringConvertible {
  /// The name or, if there is none, the number and the payload type.
  public var description: String { name ?? "event \(number) of \(payloadType)" }
}

extension Event {
  /// The name, number and payload type, as observers of the event receive them.
  ///
  /// Callable from any thread and inside any handler.
  ///
  /// - Complexity: O(1).
  public nonisolated var identity: EventIdentity { core.identity }
}

extension KeyedEvent {
  /// The name, the number, and the types of the key and payload: see ``Event/identity``.
  public var identity: EventIdentity { event.identity }
}

extension EventCore {
  /// Callable from any thread.
  package var identity: EventIdentity {
    EventIdentity(
      name: name, number: anchor.number, payloadType: (type as? any PayloadEnvelope.Type)?.contents ?? type)
  }
}

protocol PayloadEnvelope {
  static var contents: Any.Type { get }
}

extension KeyedPayload: PayloadEnvelope {
  static var contents: Any.Type { (key: Key, payload: Payload).self }
}

package protocol ChangePayload {}
extension ValueChange: ChangePayload {}
