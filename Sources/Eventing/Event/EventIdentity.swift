/// The name, the number and the payload type of an event, as a value.
///
/// Each ``EventStep`` names its event so, and ``Event/identity`` returns it. An identity does not
/// keep its event alive. Two identities are equal if their numbers are equal.
public struct EventIdentity: Sendable {
  /// The name of the event; `nil` if it has none. Several events may share a name.
  public let name: String?
  /// A number that is unique in this process: no other event ever has it.
  public let number: UInt64
  /// The type of the payloads; for a keyed event, the type of a pair of key and payload.
  public let payloadType: Any.Type
}

extension EventIdentity: Hashable {
  /// Returns whether two identities are those of one event.
  public static func == (a: EventIdentity, b: EventIdentity) -> Bool { a.number == b.number }
  /// Hashes the number.
  public func hash(into hasher: inout Hasher) { hasher.combine(number) }
}

extension EventIdentity: CustomStringConvertible {
  /// The name; without one, the number and the payload type.
  public var description: String { name ?? "event \(number) of \(payloadType)" }
}

extension Event {
  /// The name, the number and the payload type, as observers of the event receive them.
  ///
  /// Callable from any thread and inside any handler.
  ///
  /// - Complexity: O(1).
  public nonisolated var identity: EventIdentity { core.identity }
}

extension KeyedEvent {
  /// The name, the number and the type of key and payload: see ``Event/identity``.
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
