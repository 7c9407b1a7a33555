/// The handlers that a bus handler has in the events of its bus, at most one in each event.
///
/// They are found by event, so that an event leaves at a cost of O(1). They are kept in the order
/// in which they joined, and removed in that order. It may be used from any thread.
final class BusMembers: Sendable {
  private struct State: Sendable {
    /// The tokens, in the order of insertion; `nil` for one that was taken.
    var tokens: [HandlerToken?] = []
    /// The index in `tokens`, by the anchor of the event, which the token retains.
    var places: [ObjectIdentifier: Int] = [:]
    /// The number of tokens that were looked at to close gaps.
    var movedCount = 0

    /// Takes out the token of a handler in an event, if there is one.
    ///
    /// - Returns: The token, and the array before if gaps were closed. The caller releases both
    ///   after the unlock.
    mutating func take(_ anchor: ObjectIdentifier) -> (token: HandlerToken, old: [HandlerToken?])? {
      guard let place = places.removeValue(forKey: anchor), let token = tokens[place] else { return nil }
      tokens[place] = nil
      guard tokens.count > 16, tokens.count > 2 * places.count else { return (token, []) }
      let old = tokens
      movedCount += old.count
      tokens = old.filter { $0 != nil }
      for (place, token) in tokens.enumerated() {
        if let token { places[ObjectIdentifier(token.anchor)] = place }
      }
      return (token, old)
    }
  }

  private let state = Guarded(State())

  /// The number of tokens that were looked at to close gaps: at most two for each that was taken.
  var movedCount: Int { state.withLock { $0.movedCount } }

  /// Adds the token of a handler in an event that has none here. Complexity: O(1), amortized.
  func insert(_ token: HandlerToken) {
    state.withLock { state in
      state.places[ObjectIdentifier(token.anchor)] = state.tokens.count
      state.tokens.append(token)
    }
  }

  /// Removes the handler in an event, if there is one. Complexity: O(1), amortized.
  func remove(from event: EventCore) {
    guard let anchor = event.anchorReference.load(), let taken = state.withLock({ $0.take(ObjectIdentifier(anchor)) })
    else { return }
    _ = taken.token.anchor.remove(taken.token.record)
  }

  /// Removes the handlers in all events, in the order in which they joined.
  func removeAll() {
    let taken = state.withLock { state in
      defer { state = State() }
      return state.tokens
    }
    for case let token? in taken { _ = token.anchor.remove(token.record) }
  }
}
