/// Allows one race at a time.
let raceTurns = AsyncSemaphore(1)

/// Waiting tasks resume in the order of their arrival.
final class AsyncSemaphore: Sendable {
  private let state: ConditionLock<(free: Int, waiting: [Gate])>

  init(_ count: Int) { state = ConditionLock((count, [])) }

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

  /// The task that has waited longest gets the permit.
  func pass() {
    let next = state.withLock { state -> Gate? in
      guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
      state.free += 1
      return nil
    }
    next?.open()
  }
}
