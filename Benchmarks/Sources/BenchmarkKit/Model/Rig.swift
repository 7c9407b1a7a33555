/// One live event, as closures that an adapter fills in.
/// A closure is nil if the library lacks the operation. If `addRemove` or `once` is nil, the table
/// has a row that says so.
package struct Rig: Sendable {
  /// Adds a permanent handler `{ cell.hit($0) }` for each cell. The handlers are live on return.
  package var add: @Sendable ([Cell]) async -> Void
  /// Sends every payload of the batch.
  ///
  /// Unless the peer `returnsEarly`, all handlers have run on return.
  package var send: BulkOperation
  /// Adds a handler on `batch.cell` and removes it, `batch.count` times.
  package var addRemove: BulkOperation?
  /// Replaces random handlers, `batch.count` times.
  ///
  /// Each time, removes the handler at the index that `VictimPicker(seed: batch.first)` picks, and
  /// adds a handler on `batch.cell` in its place.
  package var replaceRandom: BulkOperation?
  /// For each payload, adds a handler on `batch.cell` that is called once, then sends the payload.
  package var once: BulkOperation?
  /// The operations on handlers with priorities.
  package var ranked: Ranked?
  /// Awaits an isolated call of the event and returns its number of handlers.
  package var isolatedCall: (@Sendable () async -> Int)?
  /// Ends the use of this event. Does what the library needs for that: waits for calls, removes
  /// handlers that would outlive the event, or ends the tasks that consume from it.
  package var close: @Sendable () async -> Void

  /// Operations on handlers with priorities. A send calls the handlers in the order of priorities.
  package struct Ranked: Sendable {
    /// Adds a permanent handler for each cell, with the cell's index as its priority.
    package var add: @Sendable ([Cell]) async -> Void
    /// Adds a handler on `batch.cell` and removes it, `batch.count` times.
    ///
    /// The handler's priority is `batch.first`.
    package var addRemove: BulkOperation

    package init(add: @escaping @Sendable ([Cell]) async -> Void, addRemove: BulkOperation) {
      self.add = add
      self.addRemove = addRemove
    }
  }

  package init(
    add: @escaping @Sendable ([Cell]) async -> Void,
    send: BulkOperation,
    addRemove: BulkOperation? = nil,
    replaceRandom: BulkOperation? = nil,
    once: BulkOperation? = nil,
    ranked: Ranked? = nil,
    isolatedCall: (@Sendable () async -> Int)? = nil,
    close: @escaping @Sendable () async -> Void = {}
  ) {
    self.add = add
    self.send = send
    self.addRemove = addRemove
    self.replaceRandom = replaceRandom
    self.once = once
    self.ranked = ranked
    self.isolatedCall = isolatedCall
    self.close = close
  }
}
