/// Whose turn it is among the races.
let raceTurns = AsyncSemaphore(1)

/// Lets so many in at a time, in the order in which they come.
final class AsyncSemaphore: Sendable {
  private let state: ConditionLock<(free: Int, waiting: [Gate])>

  init(_ count: Int) { state = ConditionLock((count, [])) }

  /// Returns when it is the caller's turn.
  func take() async {
    let gate = state.withLock { state -> Gate? in
      guard state.free == 0 else {
        state.free -= 1
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
      guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
      state.free += 1
      return nil
    }
    next?.open()
  }
}
