/// Factories for large numbers of events and of owners.
package struct ManyOf: Sendable {
  /// Creates `count` events with one handler each. Each handler adds its payloads to `cell`, which
  /// all handlers share: a payload to the word (`Int`) that `cell` has for the payload's sender.
  /// The returned operation sends to the events one after the other.
  package var events: @Sendable (_ count: Int, _ cell: Cell) async -> BulkOperation
  /// Creates one event with a handler for each of `count` owners. Each handler adds its payloads to
  /// `cell`, which all handlers share: a payload to the word (`Int`) that `cell` has for the
  /// payload's sender.
  package var owners: @Sendable (_ count: Int, _ cell: Cell) async -> Owned

  /// An event whose handlers have owners.
  package struct Owned: Sendable {
    package var send: BulkOperation
    /// Releases all owners.
    package var release: @Sendable () -> Void
    /// Returns the number of handlers that the event still has.
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
