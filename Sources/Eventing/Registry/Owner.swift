@usableFromInline package final class Owner: Sendable {
  @usableFromInline weak let weakObject: (any AnyObject & Sendable)?
  @usableFromInline weak let weakActor: (any Actor)?
  let objectID: ObjectIdentifier
  /// The handler runs on the main actor, so the library releases the owner only there.
  private let isOfMain: Bool

  /// Never read under a mutex, because the reference may become the last one, and the owner's
  /// `deinit` would then run here.
  @inlinable package var object: (any AnyObject & Sendable)? {
    assertNoMutexIsHeld("read a weak reference")
    return weakObject
  }

  /// Never read under a mutex: see ``object``.
  @inlinable var actor: (any Actor)? {
    assertNoMutexIsHeld("read a weak reference")
    return weakActor
  }

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

  /// True if no reference may be taken here, because it could become the last one, which only the
  /// main actor may release.
  var isElsewhere: Bool { isOfMain && !Scheduling.isOnMainQueue }

  /// Never read under a mutex: see ``object``.
  @inline(never) package var isAlive: Bool { look { _ in true } ?? false }

  /// Releases the owner on the main queue if necessary. Never called under a mutex.
  package func look<Value>(_ body: (any AnyObject & Sendable) -> Value) -> Value? {
    guard isElsewhere else { return object.map(body) }
    guard let held = unsafe retained() else { return nil }
    let value = unsafe held._withUnsafeGuaranteedRef(body)
    // Safe: the reference that `retained()` took is released once, here.
    Scheduling.mainBlock { unsafe held.release() }
    return value
  }

  /// Not inlined, so that the caller has no reference to the owner other than the returned one.
  @inline(never) private func retained() -> Unmanaged<any AnyObject & Sendable>? {
    unsafe object.map { unsafe .passRetained($0) }
  }

  /// False for a later object at the same address. Never called under a mutex.
  func isSame(as other: AnyObject) -> Bool {
    objectID == ObjectIdentifier(other) && object != nil
  }
}
