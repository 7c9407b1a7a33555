/// The name and the payload type of an event that belongs to an owner: see ``EventBus``.
///
///     extension EventKey where Payload == User { static let didLogin = EventKey("didLogin") }
public struct EventKey<Payload: Sendable>: Hashable, Sendable {
  /// The name by which the owner's event is found.
  public let name: String

  /// Creates a key with a name.
  public init(_ name: String) { self.name = name }
}

extension EventKey: CustomStringConvertible {
  /// The name and the payload type.
  public var description: String { "\"\(name)\" of \(Payload.self)" }
}
