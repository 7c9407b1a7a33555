/// A weak reference to the owner of a handler. Owners are told apart by identity.
@usableFromInline package final class Owner: Sendable {
  @usableFromInline weak let weakObject: (any AnyObject & Sendable)?
  @usableFromInline weak let weakActor: (any Actor)?
  let objectID: ObjectIdentifier
  /// Whether the owner's handler runs on the main actor, so that the library releases the owner
  /// there only.
  private let isOfMain: Bool

  /// The owner; `nil` if it is gone. Retained for a call of the handler. Otherwise use ``isAlive``
  /// or ``look(_:)``.
  ///
  /// Never read under a mutex: the reference may be the last one a moment later, and then the
  /// `deinit` of the owner runs here.
  @inlinable package var object: (any AnyObject & Sendable)? {
    assertNoMutexIsHeld("read a weak reference")
    return weakObject
  }

  /// The owner, if the handler runs on it; `nil` if it is gone. Never read under a mutex: see
  /// ``object``.
  @inlinable var actor: (any Actor)? {
    assertNoMutexIsHeld("read a weak reference")
    return weakActor
  }

  /// - Parameter place: The place where the owner's handler runs; `nil` if there is none.
  init(_ object: any AnyObject & Sendable, on place: ExecutionPlace? = nil) {
    weakObject = object
    weakActor = nil
    if case .main? = place { isOfMain = true } else { isOfMain = false }
    objectID = ObjectIdentifier(object)
  }

  init(isolating actor: any Actor) {
    weakObject = actor
    weakActor = actor
    isOfMain = false
    objectID = ObjectIdentifier(actor)
  }

  // MARK: Without a call of the handler

  /// Whether the calling thread must not retain the owner: the owner's handler runs on the main
  /// actor, and this is not the main queue. A reference that is made here may become the last one,
  /// and then the owner would be released here.
  var isElsewhere: Bool { isOfMain && !Scheduling.isOnMainQueue }

  /// Whether the owner is not gone. Never read under a mutex: see ``object``.
  @inline(never) package var isAlive: Bool { look { _ in true } ?? false }

  /// Lends the owner to a closure. Returns `nil` if the owner is gone. Never called under a mutex:
  /// see ``object``.
  ///
  /// If only the main actor may release the owner, and this is another thread, a block on the main
  /// queue releases the reference that is made here. The owner then lives until that block.
  package func look<Value>(_ body: (any AnyObject & Sendable) -> Value) -> Value? {
    guard isElsewhere else { return object.map(body) }
    guard let held = unsafe retained() else { return nil }
    let value = unsafe held._withUnsafeGuaranteedRef(body)
    // Safe: the reference that `retained()` made is released once, here.
    Scheduling.mainBlock { unsafe held.release() }
    return value
  }

  /// Not inlined, so that the caller has no other reference to the owner than the returned one.
  @inline(never) private func retained() -> Unmanaged<any AnyObject & Sendable>? {
    unsafe object.map { unsafe .passRetained($0) }
  }

  /// Returns whether an object is the owner: false for a later object at its address. Never called
  /// under a mutex.
  func isSame(as other: AnyObject) -> Bool {
    objectID == ObjectIdentifier(other) && object != nil
  }
}
