import Eventing
import Synchronization

/// What becomes of a message that was delivered to handlers: details that the report of the send
/// lacks, those of handlers behind forwards included.
///
/// A send does not wait for loops. So each sequence that the message reaches gets a mark with the
/// payload. If the loop asks for the next element, it has handled the message. If it ends earlier,
/// or a buffer is full, the mark is released: it is *lost*. The verdict on the message waits until
/// all marks have ended.
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
    /// The number of marks that have not ended: the loop has not asked for the next element, and
    /// the mark was not released.
    var openMarks = 0
    /// A mark was released before its loop asked for the next element.
    var hasLostMark = false
    var waiter: CheckedContinuation<Void, Never>?
  }

  let message: RemoteMessage
  private let transport: String
  private let notes = Guarded(Notes())

  /// - Parameter transport: The identity of the transport that the message came over.
  init(_ message: RemoteMessage, over transport: String) { (self.message, self.transport) = (message, transport) }

  var origin: (any Sendable)? { RemoteWay(of: message, over: transport) }

  /// Handlers have failed before, so views with memory let the payload pass.
  var isRepeated: Bool { message.attempt > 1 }

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

  /// The transport gets the occurrence back, and views with memory forget it.
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

  // MARK: Loops

  /// Makes a mark for a sequence that takes the payload.
  var makeMark: (@Sendable () -> any OccurrenceMark)? {
    { [self] in
      notes.withLock { $0.openMarks += 1 }
      return LoopMark(self)
    }
  }

  /// Whether all loops have asked for the element after the message; `nil` until the mark of each
  /// loop has ended. A mark ends when its loop asks for the next element, or when it is released
  /// without that. After the delivery no mark is added, so a result that is not `nil` stays.
  var isLooped: Bool? { notes.withLock { $0.openMarks == 0 ? !$0.hasLostMark : nil } }

  /// Returns whether all loops have asked for the next element.
  func waitForLoops() async -> Bool {
    await withCheckedContinuation { continuation in
      let isOver = notes.withLock { notes in
        if notes.openMarks > 0 { notes.waiter = continuation }
        return notes.openMarks == 0
      }
      if isOver { continuation.resume() }
    }
    return notes.withLock { !$0.hasLostMark }
  }

  fileprivate func endMark(isLost: Bool) {
    let waiter = notes.withLock { notes -> CheckedContinuation<Void, Never>? in
      notes.openMarks -= 1
      if isLost { notes.hasLostMark = true }
      guard notes.openMarks == 0 else { return nil }
      defer { notes.waiter = nil }
      return notes.waiter
    }
    waiter?.resume()
  }
}

/// Lost if it is released before ``handled()`` was called for each share.
private final class LoopMark: OccurrenceMark {
  private let account: MessageAccount
  /// Buffers whose loop has not handled the message.
  private let shares = Atomic(1)

  init(_ account: MessageAccount) { self.account = account }

  deinit { if shares.load(ordering: .acquiring) > 0 { account.endMark(isLost: true) } }

  func share() { shares.wrappingAdd(1, ordering: .relaxed) }

  func handled() {
    if shares.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0 { account.endMark(isLost: false) }
  }
}

struct DeliveryOutcome: Sendable {
  let forwards: Int
  /// Interceptors do not count.
  let delivered: Int
  /// Left out by a view, an interceptor or a failure, and the interceptors that did so.
  let leftOut: Int
  /// Handlers that were skipped because they had ended or were locked.
  let unhandled: Int
  /// Included in ``unhandled``.
  let locked: Int
  let replaced: Int
  let dropped: Int
  /// Handlers that run later, and are not waited for.
  let later: Int
  let failures: [HandlerFailure]
}
