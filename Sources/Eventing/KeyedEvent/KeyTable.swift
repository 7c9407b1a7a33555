import Synchronization

// Safe: each field says what guards it.
@usableFromInline package final class KeyTable: @unchecked Sendable {
  /// Never released under a mutex, because its `deinit` is user code.
  let key: AnyKeyBox
  /// Read inside the core or under `core.mutex`. Changed inside, under the mutex.
  @exclusivity(unchecked) var table = PriorityTable()
  /// Changed only inside the core.
  let offered = Atomic<UInt64>(0)
  /// The epoch of posts to this key: see ``EventAnchor/postFastPathEpoch``. Isolation: core.
  @exclusivity(unchecked) var fastPathEpoch: UInt64 = 0

  /// The place in the index; -1 if it isn't there. Guarded like `table`.
  @exclusivity(unchecked) fileprivate var place = -1

  init(_ key: AnyKeyBox) { self.key = key }

  // Isolation: core.
  @inline(__always) func countOffered() { offered.store(offered.load(ordering: .relaxed) &+ 1, ordering: .relaxed) }
}

@usableFromInline package typealias AnyKeyBox = any AnyObject & Sendable

@usableFromInline final class KeyBox<Key: Hashable & Sendable>: Sendable {
  let key: Key
  @usableFromInline init(_ key: Key) { self.key = key }

  @usableFromInline func letter<Payload: Sendable>(_ type: Payload.Type) -> LetterPayload {
    .made { [key] in OwnedPayload(KeyedPayload(key, $0.payload(Payload.self))) }
  }
}

package protocol HashableKey: Sendable {
  var hashableKey: any Hashable & Sendable { get }
}

extension KeyBox: HashableKey {
  var hashableKey: any Hashable & Sendable { key }
}

/// The key comes first because ``KeyTables`` reads it at the payload's address.
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

/// Never called under a mutex, because `==` and `hash(into:)` of the keys are user code.
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
  /// Retained once, so that a post can borrow a table without retaining it. Isolation: core.
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
    payload.check(KeyedPayload<Key, Payload>.self)
    // Copying the whole payload would retain its references. Safe: the key is the first property of
    // `KeyedPayload`.
    return unsafe table(of: payload.address.assumingMemoryBound(to: Key.self).pointee)
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

/// If an object is gone, its table stays until it is swept or until another object at the same
/// address gets handlers.
@usableFromInline final class ObjectKeyTables {
  // Isolation: core.
  @exclusivity(unchecked) private var tables: [ObjectIdentifier: (key: ObjectKey, table: KeyTable)] = [:]
  @exclusivity(unchecked) weak var core: EventCore?
  // Isolation: core.
  @exclusivity(unchecked) private var searches: UInt = 0

  /// Every send and addition searches, while nothing is being delivered. Every eighth search
  /// therefore checks a few handlers whose objects may be gone.
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

/// The thread inside the core finds a table by its key, never under the mutex, because `==` and
/// `hash(into:)` are user code. Threads outside walk the list of tables under the mutex.
// Safe: each field says what guards it.
@usableFromInline package final class KeyIndex: @unchecked Sendable {
  // Isolation: core.
  let lookup: any KeyTableLookup
  /// Read inside the core or under `core.mutex`. Changed inside, under the mutex.
  @exclusivity(unchecked) private(set) var tables: [KeyTable] = []
  /// The place of the table whose handlers are being checked. Goes down, so that a table which
  /// fills the place of one that was unlinked is not left out. Isolation: core.
  @exclusivity(unchecked) private var swept = 0

  init(_ lookup: any KeyTableLookup) { self.lookup = lookup }

  // The callers of `link` and `unlink` are inside the core and hold `core.mutex`.
  func link(_ table: KeyTable) {
    guard unsafe table.place < 0 else { return }
    unsafe table.place = tables.count
    unsafe tables.append(table)
  }

  /// The caller retains the table.
  func unlink(_ table: KeyTable) {
    let place = unsafe table.place
    guard place >= 0 else { return }
    unsafe tables.swapAt(place, tables.count - 1)
    unsafe tables[place].place = place
    unsafe tables.removeLast()
    unsafe tables.giveBackRoom()
    unsafe table.place = -1
  }

  // Isolation: core.
  func nextToSweep(_ mutex: borrowing UnfairMutex) -> (record: HandlerRecord, keyTable: KeyTable)? {
    if unsafe !tables.indices.contains(swept) { unsafe swept = tables.count - 1 }
    guard unsafe swept >= 0 else { return nil }
    let table = unsafe tables[swept]
    let (record, isLast) = mutex.withLock { unsafe (table.table.nextToSweep(), table.table.isSweepDone) }
    if isLast { unsafe swept -= 1 }
    return record.map { ($0, table) }
  }
}

/// A key that stands for an object. It holds the object weakly and equals its copies and, while the
/// object lives, the other keys of that object. It never equals the key of another object, not even
/// of a later one at the same address.
///
/// A ``KeyedEvent`` with such keys removes the handlers of dead objects by itself. If you put a key
/// into a collection of your own or make it part of another key, remove it before its object goes,
/// because a collection can't notice that the object is dead. Also, two objects that lived at the
/// same address, one after the other, have keys with the same hash value.
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

}

extension Owner: Hashable {
  @usableFromInline package static func == (a: Owner, b: Owner) -> Bool {
    a === b || (a.objectID == b.objectID && a.object != nil && b.object != nil)
  }
  @usableFromInline package func hash(into hasher: inout Hasher) { hasher.combine(objectID) }
}

extension ObjectKey: CustomStringConvertible {
  public var description: String { owner.object.map { "object \(type(of: $0))" } ?? "object that is gone" }
}
