/// One live event, as closures that an adapter fills in. What a library cannot do is nil, and its row says so.
package struct Rig: Sendable {
  /// Adds a permanent handler `{ cell.hit($0) }` for each cell; they are live when it returns.
  package var add: @Sendable ([Cell]) async -> Void
  /// Sends every payload of the batch. Unless the peer `isDeferred`, all handlers have run when it returns.
  package var send: BulkOperation
  /// `batch.count` times: add a handler on `batch.cell`, then remove it.
  package var addRemove: BulkOperation?
  /// `batch.count` times: remove one of the handlers that `add` added, chosen by `VictimPicker(seed: batch.first)`, and add one on
  /// `batch.cell` in its place.
  package var replaceRandom: BulkOperation?
  /// For each payload: add a handler on `batch.cell` that is called once, and send the payload.
  package var once: BulkOperation?
  /// The same with priorities.
  package var ranked: Ranked?
  /// Awaits an isolated call of the event and returns its number of handlers.
  package var isolatedCall: (@Sendable () async -> Int)?
  /// Frees everything, and ends the tasks of consumers.
  package var close: @Sendable () async -> Void

  /// Handlers that are called in the order of their priorities.
  package struct Ranked: Sendable {
    /// Adds a permanent handler for each cell, with its index as its priority.
    package var add: @Sendable ([Cell]) async -> Void
    /// `batch.count` times: add a handler on `batch.cell` with priority `batch.first`, then remove it.
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
