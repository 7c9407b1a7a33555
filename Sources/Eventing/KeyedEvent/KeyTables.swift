/// What goes through a keyed event: a payload, and the key that it is sent to.
@usableFromInline struct Addressed<Key: Hashable & Sendable, Payload: Sendable>: Sendable {
  @usableFromInline let key: Key?
  @usableFromInline let payload: Payload

  @inlinable init(_ key: Key?, _ payload: Payload) {
    self.key = key
    self.payload = payload
  }
}

final class KeyAddress<Key: Hashable & Sendable>: Address, @unchecked Sendable {
  let key: Key?
  init(_ key: Key?) { self.key = key }
}

final class KeyTable<Key: Hashable & Sendable, Payload: Sendable>: AddressTable<Addressed<Key, Payload>>, @unchecked Sendable {
  let key: Key?
  init(_ key: Key?) { self.key = key }
}

/// Where the handlers of each key are.
// Safe: touched only from inside the mailbox.
@usableFromInline
class KeyTables<Key: Hashable & Sendable, Payload: Sendable>:
  Addresses<Addressed<Key, Payload>>, @unchecked Sendable
{
  @exclusivity(unchecked) private var tables: [Key?: KeyTable<Key, Payload>] = [:]

  @usableFromInline override func table(for addressed: Addressed<Key, Payload>) -> AddressTable<Addressed<Key, Payload>>? {
    unsafe tables[addressed.key]
  }

  @usableFromInline override func isForAny(_ addressed: Addressed<Key, Payload>) -> Bool { addressed.key != nil }

  @usableFromInline override func find(_ address: Address) -> AddressTable<Addressed<Key, Payload>> {
    guard let address = address as? KeyAddress<Key> else { preconditionFailure("a handler of this event has an address of its keys") }
    if let table = unsafe tables[address.key] { return table }
    let table = KeyTable<Key, Payload>(address.key)
    unsafe tables[address.key] = table
    return table
  }

  override func forget(_ table: AddressTable<Addressed<Key, Payload>>) {
    guard let table = table as? KeyTable<Key, Payload> else { return }
    unsafe tables[table.key] = nil
    unsafe tables.giveBackRoom()
  }

  override func isReachable(_ table: AddressTable<Addressed<Key, Payload>>) -> Bool { true }
}

/// The same for objects: one table at most for each place in memory, so that those of objects that are gone are in nobody's way until they are swept.
// Safe: touched only from inside the mailbox.
final class ObjectTables<Payload: Sendable>: KeyTables<ObjectKey, Payload>, @unchecked Sendable {
  private typealias ObjectTable = KeyTable<ObjectKey, Payload>
  @exclusivity(unchecked) private var tables: [ObjectIdentifier?: ObjectTable] = [:]

  override func table(for addressed: Addressed<ObjectKey, Payload>) -> AddressTable<Addressed<ObjectKey, Payload>>? {
    guard let table = unsafe tables[addressed.key?.identity], table.key == addressed.key, isReachable(table) else { return nil }
    return table
  }

  override func find(_ address: Address) -> AddressTable<Addressed<ObjectKey, Payload>> {
    guard let address = address as? KeyAddress<ObjectKey> else { preconditionFailure("a handler of this event has an address of its keys") }
    if let table = unsafe tables[address.key?.identity], table.key == address.key { return table }
    let table = ObjectTable(address.key)
    // One that is there is of an object that is gone, unless this one is: two that live are in two places.
    if isReachable(table) { unsafe tables[address.key?.identity] = table }
    return table
  }

  override func forget(_ table: AddressTable<Addressed<ObjectKey, Payload>>) {
    guard let table = table as? ObjectTable, unsafe tables[table.key?.identity] === table else { return }
    unsafe tables[table.key?.identity] = nil
    unsafe tables.giveBackRoom()
  }

  override func isReachable(_ table: AddressTable<Addressed<ObjectKey, Payload>>) -> Bool {
    (table as? ObjectTable)?.key?.isAlive ?? true
  }
}
