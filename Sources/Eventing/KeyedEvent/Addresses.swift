/// The handlers of a keyed event that listen to one key, or to none: a table for each, beside that of the mailbox, whose handlers hear every key.
///
/// Keys are hashed and compared from inside the mailbox and never under its lock, because that is their owner's code. So those who look from outside, under the
/// lock, go along the tables' own links.
// Safe: `first` and the links are changed from inside and under the lock, as the tables are; all else is touched only from inside.
@usableFromInline class Addresses: @unchecked Sendable {
  @usableFromInline @exclusivity(unchecked) final var first: AddressTable?
  /// How many occurrences there were for those who listen to every key.
  @usableFromInline @exclusivity(unchecked) final var offeredToAny: UInt64 = 0
  /// The table in which a handler is looked at next; nil for the first.
  @exclusivity(unchecked) private final var lookedAt: AddressTable?

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
  func table(for payload: Loan) -> Unmanaged<AddressTable>? { preconditionFailure("addresses have keys") }
  /// Whether those hear a payload, too, who listen to every key.
  func isForAny(_ payload: Loan) -> Bool { preconditionFailure("addresses have keys") }
  /// The table of an address, made if there is none.
  func find(_ address: Address) -> AddressTable { preconditionFailure("addresses have keys") }
  func forget(_ table: AddressTable) { preconditionFailure("addresses have keys") }
  /// False for one that nothing can be sent to any more.
  func isReachable(_ table: AddressTable) -> Bool { preconditionFailure("addresses have keys") }

  // MARK: The list

  /// Under the lock; does nothing if it is in the list.
  @usableFromInline final func link(_ table: AddressTable) {
    guard unsafe !table.isLinked else { return }
    unsafe table.isLinked = true
    unsafe table.next = first
    unsafe first?.before = table
    unsafe first = table
  }

  /// Under the lock.
  final func unlink(_ table: AddressTable) {
    guard unsafe table.isLinked else { return }
    unsafe table.isLinked = false
    if unsafe lookedAt === table { unsafe lookedAt = table.next }
    unsafe table.next?.before = table.before
    if let before = unsafe table.before { unsafe before.next = table.next } else { unsafe first = table.next }
    unsafe table.next = nil
    unsafe table.before = nil
  }

  @usableFromInline final func forEach(_ body: (AddressTable) -> Void) {
    var table = unsafe first
    while let here = table {
      table = unsafe here.next
      body(here)
    }
  }

  /// Two handlers are looked at with every one that is added, table by table: so those go whose key or owner is gone, even if nothing is sent
  /// to them any more, and no add looks at many.
  @usableFromInline final func lookAtTwo(_ lock: borrowing Lock) -> [Record] {
    var found: [Record] = []
    for _ in 0..<2 {
      guard let table = unsafe lookedAt ?? first else { break }
      let (record, isLast) = lock.withLock { unsafe (table.table.nextToLookAt(), table.table.isRoundDone) }
      if isLast { unsafe lookedAt = table.next }
      guard let record else { continue }
      if !isReachable(table) || record.details?.options.owner.map({ $0.object == nil }) == true { found.append(record) }
    }
    return found
  }
}

/// The handlers of one key.
// Safe: as the mailbox's own table, and the links as `Addresses` says.
@usableFromInline class AddressTable: @unchecked Sendable {
  @usableFromInline @exclusivity(unchecked) final var table = Table()
  /// How many occurrences there were for its key since it was made.
  @usableFromInline @exclusivity(unchecked) final var offered: UInt64 = 0
  /// What `Home.changes` was before the last occurrence for its key that found nothing to decide, nor any handler of all keys. Only from inside.
  @usableFromInline @exclusivity(unchecked) final var settled: UInt64 = 0
  @exclusivity(unchecked) final var isLinked = false
  @exclusivity(unchecked) final var next: AddressTable?
  // Safe: a table that goes is unlinked first.
  @exclusivity(unchecked) final unowned(unsafe) var before: AddressTable?
}

/// What a handler of a keyed event listens to: a ``KeyAddress``.
@usableFromInline typealias Address = any AnyObject & Sendable
