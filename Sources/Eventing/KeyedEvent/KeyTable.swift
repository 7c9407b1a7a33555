/// The handlers of a keyed event that listen to one key, or to none: a table for each, beside that of the core, whose handlers hear every key.
///
/// Keys are hashed and compared from inside the core and never under its lock, because that is their owner's code. So those who look from outside, under the
/// lock, go along the tables' own links.
// Safe: `first` and the links are changed from inside and under the lock, as the tables are; all else is touched only from inside.
@usableFromInline class AnyKeyIndex: @unchecked Sendable {
  @usableFromInline @exclusivity(unchecked) final var first: KeyTable?
  /// How many occurrences there were for those who listen to every key.
  @usableFromInline @exclusivity(unchecked) final var offeredToAny: UInt64 = 0
  /// The table in which a handler is looked at next; nil for the first.
  @exclusivity(unchecked) private final var sweptTable: KeyTable?

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
  func table(for payload: BorrowedPayload) -> Unmanaged<KeyTable>? { preconditionFailure("keyIndex have keys") }
  /// Whether those hear a payload, too, who listen to every key.
  func isForAny(_ payload: BorrowedPayload) -> Bool { preconditionFailure("keyIndex have keys") }
  /// The table of an address, made if there is none.
  func find(_ address: AnyKeyBox) -> KeyTable { preconditionFailure("keyIndex have keys") }
  func forget(_ table: KeyTable) { preconditionFailure("keyIndex have keys") }
  /// False for one that nothing can be sent to any more.
  func isReachable(_ table: KeyTable) -> Bool { preconditionFailure("keyIndex have keys") }

  // MARK: The list

  /// Under the lock; does nothing if it is in the list.
  @usableFromInline final func link(_ table: KeyTable) {
    guard unsafe !table.isLinked else { return }
    unsafe table.isLinked = true
    unsafe table.next = first
    unsafe first?.before = table
    unsafe first = table
  }

  /// Under the lock.
  final func unlink(_ table: KeyTable) {
    guard unsafe table.isLinked else { return }
    unsafe table.isLinked = false
    if unsafe sweptTable === table { unsafe sweptTable = table.next }
    unsafe table.next?.before = table.before
    if let before = unsafe table.before { unsafe before.next = table.next } else { unsafe first = table.next }
    unsafe table.next = nil
    unsafe table.before = nil
  }

  @usableFromInline final func forEach(_ body: (KeyTable) -> Void) {
    var table = unsafe first
    while let here = table {
      table = unsafe here.next
      body(here)
    }
  }

  /// Two handlers are looked at with every one that is added, table by table: so those go whose key or owner is gone, even if nothing is sent
  /// to them any more, and no add looks at many.
  @usableFromInline final func sweepTwo(_ mutex: borrowing UnfairMutex) -> [HandlerRecord] {
    var found: [HandlerRecord] = []
    for _ in 0..<2 {
      guard let table = unsafe sweptTable ?? first else { break }
      let (record, isLast) = mutex.withLock { unsafe (table.table.nextToSweep(), table.table.isSweepDone) }
      if isLast { unsafe sweptTable = table.next }
      guard let record else { continue }
      if !isReachable(table) || record.details?.options.owner.map({ $0.object == nil }) == true { found.append(record) }
    }
    return found
  }
}

/// The handlers of one key.
// Safe: as the core's own table, and the links as `AnyKeyIndex` says.
@usableFromInline class KeyTable: @unchecked Sendable {
  @usableFromInline @exclusivity(unchecked) final var table = HandlerTable()
  /// How many occurrences there were for its key since it was made.
  @usableFromInline @exclusivity(unchecked) final var offered: UInt64 = 0
  /// What `EventIdentity.changes` was before the last occurrence for its key that found nothing to decide, nor any handler of all keys. Only from inside.
  @usableFromInline @exclusivity(unchecked) final var fastPathEpoch: UInt64 = 0
  @exclusivity(unchecked) final var isLinked = false
  @exclusivity(unchecked) final var next: KeyTable?
  // Safe: a table that goes is unlinked first.
  @exclusivity(unchecked) final unowned(unsafe) var before: KeyTable?
}

/// What a handler of a keyed event listens to: a ``KeyBox``.
@usableFromInline typealias AnyKeyBox = any AnyObject & Sendable
