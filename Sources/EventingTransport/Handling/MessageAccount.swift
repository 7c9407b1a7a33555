import Eventing

/// Details that the report of an occurrence lacks: why handlers were skipped, which drops the user
/// asked for, and the outcomes of the handlers behind forwards.
final class MessageAccount: DeliveryAccount {
  private struct Notes {
    /// The number of handlers that a view, an interceptor or a failure left out, those behind
    /// forwards included.
    var leftOut = 0
    /// The number of calls of interceptors, which reports count as delivered.
    var intercepted = 0
    /// The number of interceptors that stopped the occurrence.
    var stops = 0
    /// The number of handlers that were skipped because of a lock, those behind forwards included.
    var locked = 0
    /// The number of dropped calls for which a newer occurrence is called, as the handler's pace,
    /// restart or `Buffering.latest` demands, those behind forwards included.
    var replaced = 0
    /// The objects that views with memory keep of the occurrence.
    var fates: [OccurrenceFate] = []
    /// The number of events that the occurrence was forwarded to.
    var forwards = 0
    /// The outcomes in the events that the occurrence was forwarded to.
    var forwarded = SendReport()
  }

  let origin: (any Sendable)?
  let isRepeated: Bool
  let makeMark: (@Sendable () -> any OccurrenceMark)?
  private let notes = Guarded(Notes())

  init(from origin: (any Sendable)?, isRepeated: Bool, _ makeMark: (@Sendable () -> any OccurrenceMark)?) {
    self.origin = origin
    self.isRepeated = isRepeated
    self.makeMark = makeMark
  }

  func noteLeftOut() { notes.withLock { $0.leftOut += 1 } }
  func noteIntercepted(stops isStop: Bool) {
    notes.withLock { notes in
      notes.intercepted += 1
      if isStop { notes.stops += 1 }
    }
  }
  func noteLock() { notes.withLock { $0.locked += 1 } }
  func noteReplaced() { notes.withLock { $0.replaced += 1 } }
  func noteForward() { notes.withLock { $0.forwards += 1 } }
  func note(_ outcome: Outcome) { notes.withLock { $0.forwarded.count(outcome) } }
  func note(_ outcomes: SendReport) { notes.withLock { $0.forwarded.add(outcomes) } }

  func tell(_ fate: OccurrenceFate) { notes.withLock { $0.fates.append(fate) } }
  func joined(with others: some Collection<any DeliveryAccount>) -> any DeliveryAccount {
    others.isEmpty ? self : BatchAccount([self] + others)
  }

  /// Notes that the transport gets the occurrence back, because it was not handled.
  func noteHandedBack() {
    for fate in notes.withLock({ $0.fates }) { fate.isHandedBack.publish(true) }
  }

  /// Returns the outcome for all handlers, behind forwards too.
  ///
  /// - Parameter report: The report of the first event, which counts each forward as delivered.
  func outcome(_ report: SendReport) -> DeliveryOutcome {
    notes.withLock { notes in
      let forwarded = notes.forwarded
      return DeliveryOutcome(
        forwards: notes.forwards,
        delivered: report.delivered + forwarded.delivered - notes.forwards - notes.intercepted,
        leftOut: notes.leftOut + notes.stops, unhandled: report.skipped + forwarded.skipped - notes.leftOut,
        locked: notes.locked, replaced: notes.replaced, dropped: report.dropped + forwarded.dropped - notes.replaced,
        later: report.deferred + report.held + forwarded.deferred + forwarded.held,
        failures: report.failures + forwarded.failures)
    }
  }
}
