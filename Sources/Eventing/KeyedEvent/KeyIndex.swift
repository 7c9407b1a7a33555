/// A payload of a keyed event, with the key that it is sent to.
@usableFromInline struct KeyedPayload<Key: Hashable & Sendable, Payload: Sendable>: Sendable {
  @usableFromInline let key: Key?
  @usableFromInline let payload: Payload

  @inlinable init(_ key: Key?, _ payload: Payload) {
    self.key = key
    self.payload = payload
  }
}

/// The key that a handler listens to; nil for what is sent to no key.
@usableFromInline final class KeyBox<Key: Hashable & Sendable>: Sendable {
  @usableFromInline let key: Key?
  @usableFromInline init(_ key: Key?) { self.key = key }
}

/// The handlers of one key, or of none.
// Safe: as its superclass.
@usableFromInline final class TypedKeyTable<Key: Hashable & Sendable>: KeyTable, @unchecked Sendable {
  @usableFromInline let key: Key?
  @usableFromInline init(_ key: Key?) { self.key = key }
}

/// Where the handlers of each key are.
// Safe: touched only from inside the core.
@safe @usableFromInline
final class KeyIndex<Key: Hashable & Sendable, Payload: Sendable>: AnyKeyIndex, @unchecked Sendable {
  /// Retained while they are here: a post lends its table, and counts no references.
  @usableFromInline @exclusivity(unchecked) var tables: [Key: Unmanaged<TypedKeyTable<Key>>] = unsafe [:]
  @usableFromInline @exclusivity(unchecked) var untargeted: TypedKeyTable<Key>?
  /// Instead of `tables`, if the keys are objects.
  @usableFromInline let objects: ObjectKeyIndex?

  override init() { objects = Key.self == ObjectKey.self ? ObjectKeyIndex() : nil }

  deinit { unsafe tables.values.forEach { unsafe $0.release() } }

  /// Returns the table of a key, nil if it has no handlers. Valid until the next change of tables.
  @inlinable @inline(__always) func table(of key: Key?) -> Unmanaged<KeyTable>? {
    guard let key else { return unsafe untargeted.map { unsafe .passUnretained($0) } }
    if let objects {
      // Safe: there are such tables only if the keys are of this type.
      return unsafe objects.table(of: unsafeBitCast(key, to: ObjectKey.self))
    }
    // Safe: a table is one of handlers, whatever its key.
    return unsafe tables[key].map { unsafe Unmanaged<KeyTable>.fromOpaque($0.toOpaque()) }
  }

  override func table(for payload: BorrowedPayload) -> Unmanaged<KeyTable>? {
    unsafe table(of: key(in: payload).pointee)
  }
  override func isForAny(_ payload: BorrowedPayload) -> Bool { unsafe key(in: payload).pointee != nil }

  /// The address of a payload's key. A copy of the whole would retain what the payload refers to.
  private func key(in payload: BorrowedPayload) -> UnsafePointer<Key?> {
    payload.check(KeyedPayload<Key, Payload>.self)
    // Safe: the key is the first property of `KeyedPayload`.
    return unsafe payload.address.assumingMemoryBound(to: Key?.self)
  }

  override func find(_ address: AnyKeyBox) -> KeyTable {
    guard let address = address as? KeyBox<Key> else {
      preconditionFailure("a handler of this event has an address of its keys")
    }
    if let table = unsafe table(of: address.key) { return unsafe table.takeUnretainedValue() }
    let table = TypedKeyTable<Key>(address.key)
    guard let key = address.key else {
      unsafe untargeted = table
      return table
    }
    if let objects, let table = table as? TypedKeyTable<ObjectKey> {
      objects.add(table)
    } else {
      unsafe tables[key] = .passRetained(table)
    }
    return table
  }

  override func forget(_ table: KeyTable) {
    guard let table = table as? TypedKeyTable<Key> else { return }
    guard let key = table.key else { return unsafe untargeted = nil }
    if let objects, let table = table as? TypedKeyTable<ObjectKey> { return objects.forget(table) }
    unsafe tables.removeValue(forKey: key)?.release()
    unsafe tables.giveBackRoom()
  }

  override func isReachable(_ table: KeyTable) -> Bool { (table as? TypedKeyTable<ObjectKey>)?.key?.isAlive ?? true }
}

/// The tables of keys that are objects: at most one for each address in memory. So a table of an
/// object that is gone costs nothing until it is swept.
///
/// Touched only from inside the core.
@usableFromInline final class ObjectKeyIndex {
  @exclusivity(unchecked) private var tables: [ObjectIdentifier: TypedKeyTable<ObjectKey>] = [:]

  @usableFromInline func table(of key: ObjectKey) -> Unmanaged<KeyTable>? {
    guard let table = unsafe tables[key.objectID], table.key == key, key.isAlive else { return nil }
    return unsafe .passUnretained(table)
  }

  fileprivate func add(_ table: TypedKeyTable<ObjectKey>) {
    // A table that is there already belongs to an object that is gone: two living objects have
    // two keyIndex.
    if let key = table.key, key.isAlive { unsafe tables[key.objectID] = table }
  }

  fileprivate func forget(_ table: TypedKeyTable<ObjectKey>) {
    guard let key = table.key, unsafe tables[key.objectID] === table else { return }
    unsafe tables[key.objectID] = nil
    unsafe tables.giveBackRoom()
  }
}
