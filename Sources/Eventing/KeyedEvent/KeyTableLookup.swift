/// The key comes first, because ``KeyTables`` reads it at the payload's address.
@usableFromInline package struct KeyedPayload<Key: Hashable & Sendable, Payload: Sendable>: Sendable {
  @usableFromInline package let key: Key
  @usableFromInline package let payload: Payload

  @inlinable init(_ key: Key, _ payload: Payload) {
    self.key = key
    self.payload = payload
  }

  @usableFromInline static var letterOfAnyKey: LetterPayload {
    .made {
      let received = $0.payload((key: Key, payload: Payload).self)
      return OwnedPayload(KeyedPayload(received.key, received.payload))
    }
  }
}

/// Never called under a mutex, because `==` and `hash(into:)` of the keys are the user's code.
/// Isolation: core.
@usableFromInline protocol KeyTableLookup: AnyObject, Sendable {
  func table(for payload: BorrowedPayload) -> Unmanaged<KeyTable>?
  func find(_ key: AnyKeyBox) -> KeyTable
  func forget(_ table: KeyTable)
  func isReachable(_ table: KeyTable) -> Bool
}

// Safe: all fields that change are isolated to the core.
@safe @usableFromInline
final class KeyTables<Key: Hashable & Sendable, Payload: Sendable>: KeyTableLookup, @unchecked Sendable {
  /// Retained once, so that a post borrows a table without a retain. Isolation: core.
  @usableFromInline @exclusivity(unchecked) var tables: [Key: Unmanaged<KeyTable>] = unsafe [:]
  let untargeted = OnceReference<Event<Payload>>()
  @usableFromInline let objects: ObjectKeyTables?

  init() { objects = Key.self == ObjectKey.self ? ObjectKeyTables() : nil }

  deinit { unsafe tables.values.forEach { unsafe $0.release() } }

  /// Valid until the tables change.
  @inlinable @inline(__always) func table(of key: Key) -> Unmanaged<KeyTable>? {
    if let objects {
      // Safe: `objects` exists only if the keys are of this type.
      return unsafe objects.table(of: unsafeBitCast(key, to: ObjectKey.self))
    }
    return unsafe tables[key]
  }

  @usableFromInline func table(for payload: BorrowedPayload) -> Unmanaged<KeyTable>? {
    unsafe table(of: key(in: payload).pointee)
  }

  /// A copy of the payload would retain its references.
  private func key(in payload: BorrowedPayload) -> UnsafePointer<Key> {
    payload.check(KeyedPayload<Key, Payload>.self)
    // Safe: the key is the first property of `KeyedPayload`.
    return unsafe payload.address.assumingMemoryBound(to: Key.self)
  }

  @usableFromInline func find(_ box: AnyKeyBox) -> KeyTable {
    guard let box = box as? KeyBox<Key> else {
      preconditionFailure("expected a key of \(Key.self); a handler of this event listens to \(type(of: box))")
    }
    if let table = unsafe table(of: box.key) { return unsafe table.takeUnretainedValue() }
    let table = KeyTable(box)
    if let objects { objects.add(table) } else { unsafe tables[box.key] = .passRetained(table) }
    return table
  }

  @usableFromInline func forget(_ table: KeyTable) {
    guard let box = table.key as? KeyBox<Key> else { return }
    if let objects { return objects.forget(table) }
    unsafe tables.removeValue(forKey: box.key)?.release()
    unsafe tables.giveBackRoom()
  }

  @usableFromInline func isReachable(_ table: KeyTable) -> Bool { table.object?.isAlive ?? true }
}

/// The table of an object that is gone stays until it is swept, or another object at its address
/// gets handlers.
@usableFromInline final class ObjectKeyTables {
  /// Isolation: core.
  @exclusivity(unchecked) private var tables: [ObjectIdentifier: (key: ObjectKey, table: KeyTable)] = [:]
  @exclusivity(unchecked) weak var core: EventCore?
  /// Isolation: core.
  @exclusivity(unchecked) private var searches: UInt = 0

  /// Every send and addition searches, while nothing is being delivered. So every eighth search
  /// checks a few handlers, whose objects may be gone.
  @usableFromInline func table(of key: ObjectKey) -> Unmanaged<KeyTable>? {
    unsafe searches &+= 1
    if unsafe searches & 7 == 0 { unsafe core?.sweepKeys() }  // before the search, because it may drop tables
    guard let found = unsafe tables[key.objectID], found.key == key, key.isAlive else { return nil }
    return unsafe .passUnretained(found.table)
  }

  fileprivate func add(_ table: KeyTable) {
    // Living objects never share an address, so the object of an older table is gone.
    if let key = table.object, key.isAlive { unsafe tables[key.objectID] = (key, table) }
  }

  fileprivate func forget(_ table: KeyTable) {
    guard let key = table.object, unsafe tables[key.objectID]?.table === table else { return }
    unsafe tables[key.objectID] = nil
    unsafe tables.giveBackRoom()
  }
}

extension KeyTable {
  fileprivate var object: ObjectKey? { (key as? KeyBox<ObjectKey>)?.key }
}
