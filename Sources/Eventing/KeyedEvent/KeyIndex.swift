/// The key tables of a keyed event. The core's own table has the handlers of `anyKey`.
///
/// The thread inside the core finds a table by its key, with a ``KeyTableLookup``. It never does so
/// under the mutex, because `==` and `hash(into:)` of the keys are the user's code. Threads
/// outside, which hold the mutex, walk the linked list of the tables.
// Safe: each field says what guards it.
@usableFromInline package final class KeyIndex: @unchecked Sendable {
  /// The lookup, which finds the table of a key. Only the thread inside the core calls it.
  let lookup: any KeyTableLookup
  /// The first table of the linked list. Walked by the thread inside the core, or under
  /// `core.mutex`. Changed by the thread inside, under the mutex.
  @exclusivity(unchecked) var first: KeyTable?
  /// The table from which ``nextToSweep(_:)`` takes the next handler; `nil` if that is the first
  /// table. Isolation: core.
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

  /// Adds a table to the list, unless it is there. The caller holds `core.mutex`. Isolation: core.
  func link(_ table: KeyTable) {
    guard unsafe !table.isLinked else { return }
    unsafe table.isLinked = true
    unsafe table.next = first
    unsafe first?.before = table
    unsafe first = table
  }

  /// Takes a table out of the list. The caller holds `core.mutex`. Isolation: core.
  func unlink(_ table: KeyTable) {
    guard unsafe table.isLinked else { return }
    unsafe table.isLinked = false
    if unsafe sweptTable === table { unsafe sweptTable = table.next }
    unsafe table.next?.before = table.before
    if let before = unsafe table.before { unsafe before.next = table.next } else { unsafe first = table.next }
    unsafe table.next = nil
    unsafe table.before = nil
  }

  /// Calls a closure with each table. The caller is inside the core, or holds `core.mutex`.
  func forEach(_ body: (KeyTable) -> Void) {
    var table = unsafe first
    while let here = table {
      table = unsafe here.next
      body(here)
    }
  }

  /// Returns the next handler to check, among the handlers that listen to one key each. Successive
  /// calls go through one key table after the other. The caller checks whether the owner or the key
  /// of the handler is gone, so that the handler has to end: see ``Sweep``. Isolation: core.
  ///
  /// - Parameter mutex: The mutex of the core, which this method locks.
  /// - Returns: The handler and its table; `nil` if there are no tables, or if the handler of the
  ///   next slot was unregistered and has left the slot empty.
  func nextToSweep(_ mutex: borrowing UnfairMutex) -> (record: HandlerRecord, keyTable: KeyTable)? {
    guard let table = unsafe sweptTable ?? first else { return nil }
    let (record, isLast) = mutex.withLock { unsafe (table.table.nextToSweep(), table.table.isSweepDone) }
    if isLast { unsafe sweptTable = table.next }
    return record.map { ($0, table) }
  }
}
