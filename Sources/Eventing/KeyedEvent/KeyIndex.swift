/// The thread inside the core finds a table by its key, never under the mutex, because `==` and
/// `hash(into:)` are the user's code. Threads outside walk the linked list of tables under the
/// mutex.
// Safe: each field says what guards it.
@usableFromInline package final class KeyIndex: @unchecked Sendable {
  /// Isolation: core.
  let lookup: any KeyTableLookup
  /// Read inside the core or under `core.mutex`. Changed inside, under the mutex.
  @exclusivity(unchecked) var first: KeyTable?
  /// Isolation: core.
  @exclusivity(unchecked) private var sweptTable: KeyTable?

  init(_ lookup: any KeyTableLookup) { self.lookup = lookup }

  deinit {
    // Iterative: a million tables, each released by the one before, would overflow the stack.
    var table = unsafe first
    while let here = table {
      table = unsafe here.next
      unsafe here.next = nil
    }
  }

  // The callers of `link` and `unlink` are inside the core, and hold `core.mutex`.
  func link(_ table: KeyTable) {
    guard unsafe !table.isLinked else { return }
    unsafe table.isLinked = true
    unsafe table.next = first
    unsafe first?.before = table
    unsafe first = table
  }

  func unlink(_ table: KeyTable) {
    guard unsafe table.isLinked else { return }
    unsafe table.isLinked = false
    if unsafe sweptTable === table { unsafe sweptTable = table.next }
    unsafe table.next?.before = table.before
    if let before = unsafe table.before { unsafe before.next = table.next } else { unsafe first = table.next }
    unsafe table.next = nil
    unsafe table.before = nil
  }

  /// The caller is inside the core, or holds `core.mutex`.
  func forEach(_ body: (KeyTable) -> Void) {
    var table = unsafe first
    while let here = table {
      table = unsafe here.next
      body(here)
    }
  }

  /// Isolation: core.
  func nextToSweep(_ mutex: borrowing UnfairMutex) -> (record: HandlerRecord, keyTable: KeyTable)? {
    guard let table = unsafe sweptTable ?? first else { return nil }
    let (record, isLast) = mutex.withLock { unsafe (table.table.nextToSweep(), table.table.isSweepDone) }
    if isLast { unsafe sweptTable = table.next }
    return record.map { ($0, table) }
  }
}
