/// An owner: held weakly, told apart by identity.
@usableFromInline final class Owner: Sendable {
  @usableFromInline weak let object: (any AnyObject & Sendable)?
  /// The same, if the handler runs on it.
  @usableFromInline weak let actor: (any Actor)?
  let identity: ObjectIdentifier

  @usableFromInline init(_ object: any AnyObject & Sendable) {
    self.object = object
    actor = nil
    identity = ObjectIdentifier(object)
  }

  @usableFromInline init(isolating actor: any Actor) {
    object = actor
    self.actor = actor
    identity = ObjectIdentifier(actor)
  }

  /// True for the very object, never for a later one at its address.
  ///
  /// The weak reference is read only where the address fits: then it gives nothing, or the object that the caller holds anyway,
  /// so that no last reference can be released here, under whatever lock.
  @usableFromInline func isSame(as other: AnyObject) -> Bool { mayBe(other) && object != nil }

  /// True for the very object, in its `deinit` too, when the weak reference gives nothing any more; or for one that is gone.
  func mayBe(_ other: AnyObject) -> Bool { identity == ObjectIdentifier(other) }
}
