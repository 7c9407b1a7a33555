import Eventing

struct PolledWait: Equatable, Sendable {
  let id: UInt64
  let kind: WatchedWait.Kind
  let event: UInt64
  let sequence: UInt64?
  /// At most 64 handlers are listed.
  let handlers: [UInt64]
  /// Also counts handlers that ``handlers`` leaves out. 0 if ``kind`` is `next`.
  let waitsFor: Int
  /// The handler whose call waits, if it is known.
  let by: UInt64?
  /// A time on the ``InspectionClock``.
  let since: UInt64
  /// The call does not wait for these handlers, because they wait for the call.
  let deferred: [UInt64]

  static func all() -> [PolledWait] { InspectionInstrument.shared.waits }

}

extension PolledWait {
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
