/// A weak reference to the owner of a handler. Owners are told apart by identity.
@usableFromInline final class Owner: Sendable {
  @usableFromInline weak let weakObject: (any AnyObject & Sendable)?
  @usableFromInline weak let weakActor: (any Actor)?
  let objectID: ObjectIdentifier

  /// The owner; `nil` if it is gone.
  ///
  /// Never read under a mutex: the reference may be the last one a moment later, and then the
  /// `deinit` of the owner runs here.
  @inlinable var object: (any AnyObject & Sendable)? {
    assertNoMutexIsHeld("read a weak reference")
    return weakObject
  }

  /// The owner, if the handler runs on it; `nil` if it is gone. Never read under a mutex: see
  /// ``object``.
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

  /// Returns whether an object is the owner: false for a later object at its address. Never called
  /// under a mutex.
  @usableFromInline func isSame(as other: AnyObject) -> Bool { mayBe(other) && object != nil }

  /// Returns whether an object has the address of the owner.
  ///
  /// True for the owner, also in its `deinit`, where the weak reference is `nil`. But also true for
  /// a later object at the address.
  func mayBe(_ other: AnyObject) -> Bool { objectID == ObjectIdentifier(other) }
}
