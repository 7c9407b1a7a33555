/// Whose turn it is among the races.
let raceTurns = Turns()

/// Lets one in at a time, in the order in which they come.
final class Turns: Sendable {
  private let state = Guarded<(isTaken: Bool, waiting: [Gate])>((false, []))

  /// Returns when it is the caller's turn.
  func take() async {
    let gate = state.withLock { state -> Gate? in
      guard state.isTaken else {
        state.isTaken = true
        return nil
      }
      let gate = Gate()
      state.waiting.append(gate)
      return gate
    }
    await gate?.opened()
  }

  /// Gives the turn to the next.
  func pass() {
    let next = state.withLock { state -> Gate? in
      state.isTaken = !state.waiting.isEmpty
      return state.waiting.isEmpty ? nil : state.waiting.removeFirst()
    }
    next?.open()
  }
}
