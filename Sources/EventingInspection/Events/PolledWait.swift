import Eventing

/// A wait of a task, as a poll saw it.
struct PolledWait: Equatable, Sendable {
  /// A number that no other wait has.
  let id: UInt64
  let kind: WatchedWait.Kind
  /// The number of the event.
  let event: UInt64
  /// The sequence number of the occurrence, if it is known.
  let sequence: UInt64?
  /// The numbers of the handlers for whose calls the task waits, at most 64.
  let handlers: [UInt64]
  /// The number of handlers that the task waits for, also if ``handlers`` does not name all of
  /// them. 0 if ``kind`` is `next`, where the task waits for a payload.
  let waitsFor: Int
  /// The number of the handler whose call waits; `nil` if no handler's call waits, or if the
  /// handler is not known.
  let by: UInt64?
  /// When the wait began, on the ``InspectionClock``.
  let since: UInt64
  /// The numbers of the handlers for which the task does not wait, because they wait for its call.
  let deferred: [UInt64]

  /// The waits of now, without those whose event is not known.
  static func all() -> [PolledWait] { InspectionInstrument.shared.waits }

}

extension PolledWait {
  /// Looks at a wait; `nil` if its event is not known.
  ///
  /// - Parameter invocation: The call that waits.
  init?(_ wait: WatchedWait, by invocation: Invocation?, since: UInt64) {
    var (handlers, deferred): (Set<UInt64>, Set<UInt64>) = ([], [])
    var (by, sequence): (UInt64?, UInt64) = (nil, 0)
    var anchor = wait.anchor
    func look(_ completion: Completion) {
      by = invocation?.executionSlot.handlerID
      sequence = completion.report.sequence
      let waiter = completion.waiters.first { $0.id == wait.waiter }
      for (id, work) in completion.outstanding {
        if work.isCounted, anchor == nil { anchor = work.node.eventAnchor }
        guard let handler = work.node.handlerID else { continue }
        if waiter?.deferredNodes.contains(id) == true {
          deferred.insert(handler)
        } else {
          handlers.insert(handler)
        }
      }
    }
    if let completion = wait.completion {
      completion.withMutex { look(completion) }
    } else {
      by = invocation?.executionSlot.handlerID
    }
    guard let anchor else { return nil }
    self.init(
      id: wait.number, kind: wait.kind, event: anchor.number, sequence: sequence == 0 ? nil : sequence,
      handlers: Array(handlers.sorted().prefix(64)), waitsFor: handlers.count, by: by, since: since,
      deferred: deferred.sorted())
  }
}
