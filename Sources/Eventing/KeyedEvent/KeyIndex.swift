/// The key tables of a keyed event, beside the core's own table, whose handlers hear every key.
///
/// Keys are hashed and compared by the thread inside the core and never under its mutex: that code
/// belongs to the user. Threads outside, which hold the mutex, walk the linked list of the tables.
// Safe: `first` and the links are changed by the thread inside, and under `core.mutex`. The other
// fields are isolated to the core.
@usableFromInline final class KeyIndex: @unchecked Sendable {
  let lookup: any KeyLookup
  @usableFromInline @exclusivity(unchecked) var first: KeyTable?
  /// The number of occurrences for handlers of all keys. Isolation: core.
  @usableFromInline @exclusivity(unchecked) var offeredToAny: UInt64 = 0
  /// The table whose handlers are swept next; `nil` for the first. Isolation: core.
  @exclusivity(unchecked) private var sweptTable: KeyTable?

  init(_ lookup: any KeyLookup) { self.lookup = lookup }

  deinit {
    // Iterative: a million tables, each released by the one before, would overflow the stack.
    var table = unsafe first
    while let here = table {
      table = unsafe here.next
      unsafe here.next = nil
    }
  }

  /// Adds a table to the list, unless it is there. The caller is inside and holds `core.mutex`.
  @usableFromInline func link(_ table: KeyTable) {
    guard unsafe !table.isLinked else { return }
    unsafe table.isLinked = true
    unsafe table.next = first
    unsafe first?.before = table
    unsafe first = table
  }

  /// Takes a table out of the list. The caller is inside and holds `core.mutex`.
  func unlink(_ table: KeyTable) {
    guard unsafe table.isLinked else { return }
    unsafe table.isLinked = false
    if unsafe sweptTable === table { unsafe sweptTable = table.next }
    unsafe table.next?.before = table.before
    if let before = unsafe table.before { unsafe before.next = table.next } else { unsafe first = table.next }
    unsafe table.next = nil
    unsafe table.before = nil
  }

  /// Calls `body` with each table. The caller is inside, or holds `core.mutex`.
  @usableFromInline func forEach(_ body: (KeyTable) -> Void) {
    var table = unsafe first
    while let here = table {
      table = unsafe here.next
      body(here)
    }
  }

  /// Returns the handler of a single key that is swept next, table by table. Isolation: core.
  ///
  /// - Returns: `nil` if there are no tables, or the slot that is next has no handler.
  func nextToSweep(_ mutex: borrowing UnfairMutex) -> (record: HandlerRecord, keyTable: KeyTable)? {
    guard let table = unsafe sweptTable ?? first else { return nil }
    let (record, isLast) = mutex.withLock { unsafe (table.table.nextToSweep(), table.table.isSweepDone) }
    if isLast { unsafe sweptTable = table.next }
    return record.map { ($0, table) }
  }
}
