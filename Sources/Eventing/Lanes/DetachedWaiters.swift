/// The completions that waited on a lane when a holding lock paused it.
///
/// Nothing waits for a paused lane. Its calls count as deferred, and barriers pass.
struct DetachedWaiters {
  private(set) var calls: [Completion] = []
  private(set) var barriers: [Completion] = []

  /// Removes the waiters of a call. Returns the completion that the call keeps.
  mutating func detach(_ completion: Completion?) -> Completion? {
    guard let completion, completion.isToBeTold else { return completion }
    calls.append(completion)
    return completion.withoutWaiting
  }

  /// Removes the waiters of an item. Returns the item that stays in its place.
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
