/// The name of an event of an owner, and what it carries.
///
///     extension EventKey where Payload == User { static let didLogin = EventKey("didLogin") }
public struct EventKey<Payload: Sendable>: Hashable, Sendable {
  /// By which the event is found, together with its owner.
  public let name: String

  /// A key of that name.
  public init(_ name: String) { self.name = name }
}

extension EventKey: CustomStringConvertible {
  /// Name and payload.
  public var description: String { "\"\(name)\" of \(Payload.self)" }
}
