/// An object as an address: held weakly, and never equal to another object, a later one at its address included.
///
/// A ``KeyedEvent`` of such keys gives up what dead objects had. Inside another key, or in a collection of your own, remove it before the object goes: nobody sees
/// that it is dead, and keys of objects that were at one address one after the other have one hash value.
public struct ObjectKey: Hashable, Sendable {
  private let owner: Owner

  /// The key of an object.
  public init(_ object: some AnyObject & Sendable) { owner = Owner(object) }

  /// The object, if it is still there.
  public var object: (any AnyObject & Sendable)? { owner.object }

  /// Whether the object is still there. What is sent to one that is not reaches nobody.
  public var isAlive: Bool { owner.object != nil }

  /// Where it is, or was: another may be there by now.
  var objectID: ObjectIdentifier { owner.objectID }

  /// Whether both name the same object, and that is still there; a copy of a key equals it for ever.
  public static func == (a: ObjectKey, b: ObjectKey) -> Bool {
    a.owner === b.owner || (a.owner.objectID == b.owner.objectID && a.isAlive && b.isAlive)
  }
  /// By the object's identity.
  public func hash(into hasher: inout Hasher) { hasher.combine(owner.objectID) }
}

extension ObjectKey: CustomStringConvertible {
  /// In one line.
  public var description: String { owner.object.map { "object \(type(of: $0))" } ?? "object that is gone" }
}
