/// A key that stands for an object. It holds the object weakly, and never equals the key of another
/// object, even of a later one at the same address.
///
/// A ``KeyedEvent`` with such keys removes the handlers of dead objects by itself. If you put a key
/// into a collection of your own, or make it part of another key, remove it before its object goes:
/// a collection cannot notice that the object is dead. Also, two objects that lived at one address,
/// one after the other, have keys with one hash value.
public struct ObjectKey: Hashable, Sendable {
  private let owner: Owner

  /// Creates the key of an object.
  ///
  /// - Parameter object: The object. It is held weakly.
  public init(_ object: some AnyObject & Sendable) { owner = Owner(object) }

  /// The object, if it still exists.
  public var object: (any AnyObject & Sendable)? { owner.object }

  var isAlive: Bool { owner.object != nil }

  /// Another object may be at this address by now.
  var objectID: ObjectIdentifier { owner.objectID }

  /// Returns whether two keys stand for one object that still exists. A copy of a key always equals
  /// the key.
  public static func == (a: ObjectKey, b: ObjectKey) -> Bool {
    a.owner === b.owner || (a.owner.objectID == b.owner.objectID && a.isAlive && b.isAlive)
  }
  /// Hashes the address of the object.
  public func hash(into hasher: inout Hasher) { hasher.combine(owner.objectID) }
}

extension ObjectKey: CustomStringConvertible {
  public var description: String { owner.object.map { "object \(type(of: $0))" } ?? "object that is gone" }
}
