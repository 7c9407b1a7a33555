/// An owner: held weakly, told apart by identity.
@usableFromInline final class Owner: Sendable {
  @usableFromInline weak let weakObject: (any AnyObject & Sendable)?
  @usableFromInline weak let weakActor: (any Actor)?
  let objectID: ObjectIdentifier

  /// The owner, if it is still there. Never read under a lock: this may be the last reference a moment later.
  @inlinable var object: (any AnyObject & Sendable)? {
    assertNoMutexIsHeld("read a weak reference")
    return weakObject
  }

  /// The owner, if the handler runs on it and it is still there; as ``object``.
  @inlinable var actor: (any Actor)? {
    assertNoMutexIsHeld("read a weak reference")
    return weakActor
  }

  @usableFromInline init(_ object: any AnyObject & Sendable) {
    weakObject = object
    weakActor = nil
    objectID = ObjectIdentifier(object)
  }

  @usableFromInline init(isolating actor: any Actor) {
    weakObject = actor
    weakActor = actor
    objectID = ObjectIdentifier(actor)
  }

  /// True for the very object, never for a later one at its address. Never asked under a lock.
  @usableFromInline func isSame(as other: AnyObject) -> Bool { mayBe(other) && object != nil }

  /// True for the very object, in its `deinit` too, when the weak reference gives nothing any more; or for one that is gone.
  func mayBe(_ other: AnyObject) -> Bool { objectID == ObjectIdentifier(other) }
}
