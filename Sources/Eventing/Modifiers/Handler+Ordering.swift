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
  /// Memory is kept for the occurrences that wait, for keys without a waiting occurrence (at most
  /// 1,024 once no occurrence of any key waits), and for at most 512 calls that have ended.
  ///
  /// - Parameter key: Returns the key of a payload. It runs where the event delivers, as do `==`
  ///   and `hash(into:)` of the key.
  public func inOrder<Key: Hashable & Sendable>(by key: @escaping @Sendable (Payload) -> Key) -> Handler {
    modified { $0.key = KeyRule { UnitKeys<Key> { key($0.payload(Payload.self)) } } }
  }
}

/// The rule that makes tables of keys for a handler whose calls are in order by key.
struct KeyRule: Sendable {
  /// Returns a new table of keys for one lane.
  let makeKeys: @Sendable () -> any UnitKeying
}
