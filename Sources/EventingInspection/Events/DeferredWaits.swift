import Eventing

/// The last waits with deferred handlers, which a waiting call does not wait for, because they wait
/// for that call. Such a wait is often short: a poll seldom finds it, and it may end before a
/// client connects. So the last one is kept for each event and each set of deferred handlers.
enum DeferredWaits {
  private struct Key: Hashable {
    let event: UInt64
    let deferred: [UInt64]
  }

  static let most = 1_024
  private static let waits = Guarded<[Key: PolledWait]>([:])

  /// In the order of the ends: a wait is noted when it ends, so ``PolledWait/since`` is that time.
  static var last: [PolledWait] {
    waits.withLock { waits in waits.values.map { wait in wait } }.sorted { $0.id < $1.id }
  }

  static func note(_ wait: WatchedWait, by invocation: Invocation?) {
    guard let completion = wait.completion, completion.isTracked,
      completion.withMutex({ completion.waiters.contains { $0.id == wait.waiter && !$0.deferredNodes.isEmpty } }),
      let wait = PolledWait(wait, by: invocation, since: InspectionClock.now), !wait.deferred.isEmpty
    else { return }
    let key = Key(event: wait.event, deferred: wait.deferred)
    waits.withLock { waits in
      if waits.count >= most, waits[key] == nil, let oldest = waits.min(by: { $0.value.id < $1.value.id }) {
        waits[oldest.key] = nil
      }
      waits[key] = wait
    }
  }

  static func removeAll() { waits.withLock { $0 = [:] } }
}
