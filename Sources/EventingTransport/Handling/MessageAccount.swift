import Eventing

/// Details that the report of an occurrence lacks, those of handlers behind forwards included.
final class MessageAccount: DeliveryAccount {
  private struct Notes {
    /// Left out by a view, an interceptor or a failure.
    var leftOut = 0
    /// Calls of interceptors, which reports count as delivered.
    var intercepted = 0
    /// Interceptors that stopped the occurrence.
    var stops = 0
    var locked = 0
    /// Dropped for a newer occurrence, as a pace, a restart or `Buffering.latest` demands.
    var replaced = 0
    /// Kept by views with memory.
    var fates: [OccurrenceFate] = []
    var forwards = 0
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
  func joined(with others: some Collection<any DeliveryAccount>, isWhole: Bool) -> any DeliveryAccount {
    others.isEmpty && isWhole ? self : BatchAccount([self] + others, isWhole)
  }

  /// The transport gets the occurrence back.
  func noteHandedBack() {
    for fate in notes.withLock({ $0.fates }) { fate.isHandedBack.publish(true) }
  }

  /// - Parameter report: That of the first event, which counts each forward as delivered.
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
