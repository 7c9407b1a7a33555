import Eventing

/// The last waits with deferred handlers: handlers for which a waiting call does not wait, because
/// they wait for that call.
///
/// A wait with deferred handlers is often short: a poll seldom finds it, and it may end before a
/// client connects. So the last wait is kept here, for each event and each set of deferred
/// handlers.
enum DeferredWaits {
  private struct Key: Hashable {
    let event: UInt64
    let deferred: [UInt64]
  }

  /// The largest number of remembered waits. If it is reached, a further wait replaces the oldest
  /// one.
  static let most = 1_024
  private static let waits = Guarded<[Key: PolledWait]>([:])

  /// The last noted wait for each event and each set of deferred handlers. A wait is noted only
  /// when it ends. So its ``PolledWait/since`` is the time of its end, and not of its beginning.
  /// In the order of these ends.
  static var last: [PolledWait] {
    waits.withLock { waits in waits.values.map { wait in wait } }.sorted { $0.id < $1.id }
  }

  /// Notes a wait that is about to end.
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
