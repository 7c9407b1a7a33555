/// The completions that waited on a lane when a lock that holds paused it.
///
/// Nothing waits for a lane that is paused. Its calls count as deferred, and barriers pass.
struct DetachedWaiters {
  private(set) var calls: [Completion] = []
  private(set) var barriers: [Completion] = []

  /// Takes the waiters of a call out, and returns the completion that the call keeps.
  mutating func detach(_ completion: Completion?) -> Completion? {
    guard let completion, completion.isToBeTold else { return completion }
    calls.append(completion)
    return completion.withoutWaiting
  }

  /// Takes the waiters of an item out, and returns the item that stays in its place.
  mutating func detach(_ item: LaneItem) -> LaneItem {
    switch item {
    case .call(let completion): return .call(detach(completion))
    case .barrier(let completion):
      barriers.append(completion)
      return .done
    case .end, .done: return item
    }
  }
}
