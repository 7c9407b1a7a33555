/// Waits in which a call does not wait for some handlers, the deferred ones, because these wait for
/// that call. Noted while an inspection or an ``EventDiagnostics`` watches.
///
/// Such a wait is often short, so a poll seldom finds it, and it may have ended before a client
/// connects. For each event and each set of deferred handlers, the last such wait is kept here.
package enum DeferredWaits {
  private struct Key: Hashable {
    let event: UInt64
    let deferred: [UInt64]
  }

  /// The largest number of remembered waits. If it is reached, a further wait replaces the oldest
  /// one.
  static let most = 1_024
  private static let waits = Guarded<[Key: PolledWait]>([:])

  /// The last noted wait for each event and each set of deferred handlers. The `since` of these
  /// waits is the time of their end.
  package static var last: [PolledWait] { waits.withLock { waits in waits.values.map { wait in wait } } }

  /// Notes a wait that is about to end.
  static func note(_ completion: Completion) {
    guard
      let wait = completion.polledWait(id: WaitingSends.newNumber(), since: InspectionClock.now, at: nil),
      !wait.deferred.isEmpty
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
