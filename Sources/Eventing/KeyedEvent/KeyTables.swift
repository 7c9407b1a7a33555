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
final class KeyTables<Key: Hashable & Sendable, Payload: Sendable>:
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
    if unsafe tables[table.key] === table { unsafe tables[table.key] = nil }
  }

  override func isReachable(_ table: AddressTable<Addressed<Key, Payload>>) -> Bool {
    ((table as? KeyTable<Key, Payload>)?.key as? ObjectKey)?.isAlive ?? true
  }
}
