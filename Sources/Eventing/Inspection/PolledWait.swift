/// A wait of a task, as a poll saw it.
package struct PolledWait: Equatable, Sendable {
  package enum Kind: String, Sendable { case send, ticket, quiesce, next }

  /// A number that no other wait has.
  package let id: UInt64
  package let kind: Kind
  /// The number of the event.
  package let event: UInt64
  /// The sequence number of the occurrence, if it is known.
  package let sequence: UInt64?
  /// The numbers of the handlers for whose calls the task waits, at most 64.
  package let handlers: [UInt64]
  /// The number of handlers that the task waits for, also if ``handlers`` does not name all of
  /// them. 0 if ``kind`` is `next`, where the task waits for a payload.
  package let waitsFor: Int
  /// The number of the handler whose call waits; `nil` if no handler's call waits, or if the
  /// handler is not known.
  package let by: UInt64?
  /// When the wait began, on the ``InspectionClock``.
  package let since: UInt64
  /// The numbers of the handlers for which the task does not wait, because they wait for its call.
  package let deferred: [UInt64]

  /// The waits that are noted now, without those whose event is not known.
  package static func all() -> [PolledWait] {
    (WaitingSends.polled + WaitsForNext.all).sortedUnspecialized { $0.id < $1.id }
  }
}

extension Completion {
  /// Returns the wait for this completion; `nil` if its event is not known.
  func polledWait(id: UInt64, since: UInt64, at anchor: EventAnchor?) -> PolledWait? {
    let notes = unsafe notes
    let known = anchor ?? notes?.anchor
    var (handlers, deferred): (Set<UInt64>, Set<UInt64>) = ([], [])
    var (by, sequence): (UInt64?, UInt64) = (nil, 0)
    var found: EventAnchor?
    withMutex {
      let waiter = waiters.first
      by = waiter?.invocation?.executionSlot.handlerID
      sequence = report.sequence
      for (id, work) in outstanding {
        if work.isCounted, found == nil { found = work.node.eventAnchor }
        guard let handler = work.node.handlerID else { continue }
        if waiter?.deferredNodes.contains(id) == true {
          deferred.insert(handler)
        } else {
          handlers.insert(handler)
        }
      }
    }
    guard let event = known ?? found else { return nil }
    let kind = notes?.kind ?? (purpose == .send ? .send : .ticket)
    return PolledWait(
      id: id, kind: kind, event: event.number, sequence: sequence == 0 ? nil : sequence,
      handlers: Array(handlers.sortedUnspecialized(by: <).prefix(64)), waitsFor: handlers.count, by: by, since: since,
      deferred: deferred.sortedUnspecialized(by: <))
  }
}
