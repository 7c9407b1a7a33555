/// A payload of a keyed event, with the key that it is sent to.
///
/// The key is the first property, because ``KeyTables`` reads it at the payload's address.
@usableFromInline package struct KeyedPayload<Key: Hashable & Sendable, Payload: Sendable>: Sendable {
  @usableFromInline package let key: Key
  @usableFromInline package let payload: Payload

  @inlinable init(_ key: Key, _ payload: Payload) {
    self.key = key
    self.payload = payload
  }

  /// How a dead letter gets the payload with its key from what a handler of `anyKey` received.
  @usableFromInline static var letterOfAnyKey: LetterPayload {
    .made {
      let received = $0.payload((key: Key, payload: Payload).self)
      return OwnedPayload(KeyedPayload(received.key, received.payload))
    }
  }
}

/// Finds the table of a key. The core calls it without knowing the type of the keys.
///
/// No requirement is called under a mutex, because `==` and `hash(into:)` of the keys are the
/// user's code. Isolation: core.
@usableFromInline protocol KeyTableLookup: AnyObject, Sendable {
  /// Returns the table of the handlers for a payload's key; `nil` if there is none.
  func table(for payload: BorrowedPayload) -> Unmanaged<KeyTable>?
  /// Returns the table of a key; creates it if there is none.
  func find(_ key: AnyKeyBox) -> KeyTable
  /// Removes a table that has no handlers.
  func forget(_ table: KeyTable)
  /// Returns whether a payload can still be sent to the key of a table; false if the key is an
  /// object that is gone.
  func isReachable(_ table: KeyTable) -> Bool
}

/// The table of each key that has handlers.
// Safe: all fields that change are isolated to the core.
@safe @usableFromInline
final class KeyTables<Key: Hashable & Sendable, Payload: Sendable>: KeyTableLookup, @unchecked Sendable {
  /// The tables by key. Each is retained once here, so that a post borrows it without a retain.
  /// Isolation: core.
  @usableFromInline @exclusivity(unchecked) var tables: [Key: Unmanaged<KeyTable>] = unsafe [:]
  /// The event for payloads that are sent to no key; none before the first access.
  let untargeted = OnceReference<Event<Payload>>()
  /// The tables by object, instead of `tables`; `nil` unless the keys are objects.
  @usableFromInline let objects: ObjectKeyTables?

  init() { objects = Key.self == ObjectKey.self ? ObjectKeyTables() : nil }

  deinit { unsafe tables.values.forEach { unsafe $0.release() } }

  /// Returns the table of a key; `nil` if the key has no handlers. Valid until the tables change.
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

  /// Returns the address of a payload's key. A copy of the payload would retain its references.
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

/// The tables of keys that are objects, at most one for each address in memory.
///
/// The table of an object that is gone stays until it is swept, or until another object at its
/// address gets handlers.
@usableFromInline final class ObjectKeyTables {
  /// The tables, by the addresses of the objects. Isolation: core.
  @exclusivity(unchecked) private var tables: [ObjectIdentifier: (key: ObjectKey, table: KeyTable)] = [:]
  /// The core, whose handlers a search sweeps. Set before the event is shared.
  @exclusivity(unchecked) weak var core: EventCore?
  /// The number of searches. Isolation: core.
  @exclusivity(unchecked) private var searches: UInt = 0

  /// Returns the table of an object; `nil` if the object has no handlers, or is gone.
  ///
  /// Every send and every addition searches for a table, and no occurrence is being delivered
  /// meanwhile. So every eighth search checks a few handlers of other objects, which may be gone.
  @usableFromInline func table(of key: ObjectKey) -> Unmanaged<KeyTable>? {
    unsafe searches &+= 1
    if unsafe searches & 7 == 0 { unsafe core?.sweepKeys() }  // before the search, because it may drop tables
    guard let found = unsafe tables[key.objectID], found.key == key, key.isAlive else { return nil }
    return unsafe .passUnretained(found.table)
  }

  fileprivate func add(_ table: KeyTable) {
    // If there is a table at this address, its object is gone: two living objects never have one
    // address. So the new table may replace it.
    if let key = table.object, key.isAlive { unsafe tables[key.objectID] = (key, table) }
  }

  fileprivate func forget(_ table: KeyTable) {
    guard let key = table.object, unsafe tables[key.objectID]?.table === table else { return }
    unsafe tables[key.objectID] = nil
    unsafe tables.giveBackRoom()
  }
}

extension KeyTable {
  /// The object that is the key, if keys are objects.
  fileprivate var object: ObjectKey? { (key as? KeyBox<ObjectKey>)?.key }
}
