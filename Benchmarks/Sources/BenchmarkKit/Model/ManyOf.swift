/// What a library is asked for in great numbers, beside handlers on one event.
package struct ManyOf: Sendable {
  /// So many events, with a handler on `cell` each; the operation sends each payload to the next of them.
  package var events: @Sendable (_ count: Int, _ cell: Cell) async -> BulkOperation
  /// One event with a handler on `cell` for each of so many owners.
  package var owners: @Sendable (_ count: Int, _ cell: Cell) async -> Owned

  package struct Owned: Sendable {
    package var send: BulkOperation
    /// Lets all owners go.
    package var release: @Sendable () -> Void
    /// How many handlers there still are.
    package var remaining: @Sendable () async -> Int

    package init(
      send: BulkOperation, release: @escaping @Sendable () -> Void, remaining: @escaping @Sendable () async -> Int
    ) {
      self.send = send
      self.release = release
      self.remaining = remaining
    }
  }

  package init(
    events: @escaping @Sendable (_ count: Int, _ cell: Cell) async -> BulkOperation,
    owners: @escaping @Sendable (_ count: Int, _ cell: Cell) async -> Owned
  ) {
    self.events = events
    self.owners = owners
  }
}
