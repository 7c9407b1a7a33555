extension Handler {
  /// Returns a copy whose calls for equal keys come in order, one at a time.
  ///
  ///     orders.add(Handler(on: .concurrent(limit: 8)) { order in try await ship(order) }
  ///       .inOrder(by: \.customer))
  ///
  /// Calls for different keys overlap, up to the limit of the delivery. A slow key delays no other
  /// key while fewer calls than the limit run. A bound, and a lock that holds occurrences, apply to
  /// all keys together. Where calls come one at a time anyway, the modifier changes nothing.
  ///
  /// On ``AsyncDelivery/task``, a call for a `send` is a child task of the sender, also if the call
  /// had to wait until earlier calls for its key had ended. Then the sender's task must resume to
  /// start the child task. If the sender's actor is blocked at that moment, this call and the later
  /// calls for the key are delayed.
  ///
  /// The handler keeps memory for the occurrences that wait, and for keys. When no occurrence waits
  /// and no call runs, at most 1,024 keys are kept.
  ///
  /// - Parameter key: A closure that returns the key of a payload. The thread that delivers the
  ///   occurrence calls the closure, and `==` and `hash(into:)` of the key.
  public func inOrder<Key: Hashable & Sendable>(by key: @escaping @Sendable (Payload) -> Key) -> Handler {
    modified { $0.key = KeyRule { TypedLaneKeys<Key> { key($0.payload(Payload.self)) } } }
  }
}

/// The rule of ``Handler/inOrder(by:)``. For each lane of the handler, it makes a table of the keys
/// whose payloads wait or run on that lane.
struct KeyRule: Sendable {
  /// Returns a new table of keys for one lane.
  let makeKeys: @Sendable () -> LaneKeys
}
