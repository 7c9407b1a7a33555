/// The handlers of a keyed event that listen to one key, or to none: a table for each, beside that of the mailbox, whose handlers hear every key.
///
/// Keys are hashed and compared from inside the mailbox and never under its lock, because that is their owner's code. So those who look from outside, under the
/// lock, go along the tables' own links.
// Safe: `first` and the links are changed from inside and under the lock, as the tables are; all else is touched only from inside.
@usableFromInline class Addresses<Payload: Sendable>: @unchecked Sendable {
  @usableFromInline @exclusivity(unchecked) final var first: AddressTable<Payload>?
  /// How many occurrences there were for those who listen to every key.
  @usableFromInline @exclusivity(unchecked) final var offeredToAny: UInt64 = 0
  @exclusivity(unchecked) private final var addedSinceSweep = 0
  /// As many as the last sweep left, so that sweeping costs each handler that is added a constant time, however the handlers are spread over keys.
  @exclusivity(unchecked) private final var sweepAfter = 64

  @usableFromInline init() {}

  deinit {
    // One after the other: a million tables, each released by the one before, would need a stack as deep.
    var table = unsafe first
    while let here = table {
      table = unsafe here.next
      unsafe here.next = nil
    }
  }

  // MARK: By key

  /// The table that a payload is for.
  @usableFromInline func table(for payload: Payload) -> AddressTable<Payload>? { preconditionFailure("addresses have keys") }
  /// Whether those hear a payload, too, who listen to every key.
  @usableFromInline func isForAny(_ payload: Payload) -> Bool { preconditionFailure("addresses have keys") }
  /// The table of an address, made if there is none.
  @usableFromInline func find(_ address: Address) -> AddressTable<Payload> { preconditionFailure("addresses have keys") }
  func forget(_ table: AddressTable<Payload>) { preconditionFailure("addresses have keys") }
  /// False for one that nothing can be sent to any more.
  func isReachable(_ table: AddressTable<Payload>) -> Bool { preconditionFailure("addresses have keys") }

  // MARK: The list

  /// Under the lock; does nothing if it is in the list.
  @usableFromInline final func link(_ table: AddressTable<Payload>) {
    guard unsafe !table.isLinked else { return }
    unsafe table.isLinked = true
    unsafe table.next = first
    unsafe first?.before = table
    unsafe first = table
  }

  /// Under the lock.
  final func unlink(_ table: AddressTable<Payload>) {
    guard unsafe table.isLinked else { return }
    unsafe table.isLinked = false
    unsafe table.next?.before = table.before
    if let before = unsafe table.before { unsafe before.next = table.next } else { unsafe first = table.next }
    unsafe table.next = nil
    unsafe table.before = nil
  }

  @usableFromInline final func forEach(_ body: (AddressTable<Payload>) -> Void) {
    var table = unsafe first
    while let here = table {
      table = unsafe here.next
      body(here)
    }
  }

  /// Now and then, as handlers are added: those that will not be called any more because their key or their owner is gone.
  @usableFromInline final func sweep() -> [Record] {
    unsafe addedSinceSweep += 1
    guard unsafe addedSinceSweep > sweepAfter else { return [] }
    unsafe addedSinceSweep = 0
    var found: [Record] = []
    var left = 0
    forEach { table in
      let isReachable = isReachable(table)
      unsafe table.table.forEachRow { row in
        let record = unsafe row.pointee.record
        guard unsafe record.slot >= 0 else { return }
        if !isReachable || record.details?.options.owner.map({ $0.object == nil }) == true { found.append(record) } else { left += 1 }
      }
    }
    unsafe sweepAfter = max(64, left)
    return found
  }
}

/// The handlers of one key.
// Safe: as the mailbox's own table, and the links as `Addresses` says.
@usableFromInline class AddressTable<Payload: Sendable>: @unchecked Sendable {
  @usableFromInline @exclusivity(unchecked) final var table = Table<Payload>()
  /// How many occurrences there were for its key since it was made.
  @usableFromInline @exclusivity(unchecked) final var offered: UInt64 = 0
  @exclusivity(unchecked) final var isLinked = false
  @exclusivity(unchecked) final var next: AddressTable<Payload>?
  // Safe: a table that goes is unlinked first.
  @exclusivity(unchecked) final unowned(unsafe) var before: AddressTable<Payload>?
}

/// What a handler of a keyed event listens to.
// Safe: it has nothing, and what it is made into has constants only; unchecked because it is not final.
@usableFromInline class Address: @unchecked Sendable {}
