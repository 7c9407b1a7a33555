import Eventing

/// Compares the deliveries of one event with the deliveries that had to happen and that could
/// happen.
struct Verifier {
  let trial: AnyTrial
  let checks: Checks
  let handlerLogs: [HandlerLog]
  let senderLogs: [SenderLog]
  /// The position of each send in the order of the event, counted from 1. 0 if the occurrence never
  /// reached the witness, the trial's first handler.
  private(set) var position: [[Int]] = []
  /// The variables from here to `done` have, for each position: the span of the send, its key, the
  /// time of the witness's call, and a time by which all inline calls had returned.
  private(set) var sent: [Span] = []
  private(set) var keys: [Int32?] = []
  private(set) var seen: [UInt64] = []
  private(set) var done: [UInt64] = []
  /// The number of handler calls with each occurrence, by its position in the order of the event.
  var callCounts: [Int] = []
  /// The number of handler calls that threw, by the position of their occurrence in the order of
  /// the event.
  var failureCounts: [Int] = []

  var last: Int { sent.count - 1 }

  init(_ trial: AnyTrial) {
    self.trial = trial
    checks = trial.checks
    handlerLogs = trial.handlerLogs
    senderLogs = trial.senderLogs
  }

  mutating func run() {
    guard order() else { return }
    callCounts = [Int](repeating: 0, count: sent.count)
    failureCounts = callCounts
    var judged = HandlerVerifier(self)
    for handlerLog in handlerLogs {
      judged.verify(handlerLog)
    }
    (callCounts, failureCounts) = (judged.callCounts, judged.failureCounts)
    if trial.holding == nil { judgeHandlerOrder() }  // held occurrences are delivered late, out of this order
    trial.context.must += judged.must
    trial.context.may += judged.may
    trial.context.did += judged.did
    for senderLog in senderLogs {
      for (index, report) in senderLog.reports {
        let place = position[senderLog.number][index]
        if place > 0 { verify(report, at: place) }
      }
    }
  }

  // MARK: The order of the event

  /// Reconstructs the order of the event from the calls of the witness, the trial's first handler.
  ///
  /// - Returns: Whether the calls of the witness are consistent.
  private mutating func order() -> Bool {
    position = senderLogs.map { [Int](repeating: 0, count: $0.sent.count) }
    let none = Span(start: 0, end: 0)
    (sent, keys, seen, done) = ([none], [nil], [0], [0])
    var next = [Int](repeating: 0, count: senderLogs.count)
    for call in trial.witness.calls {
      let (senderLog, index) = (Int(call.senderLog), Int(call.index))
      let isDue = trial.losesNothing ? index == next[senderLog] : index >= next[senderLog]
      checks.expect(.g2, isDue, "sender \(senderLog): expected number \(next[senderLog]), received \(index)")
      next[senderLog] = index + 1
      guard
        checks.expect(
          .g21, position[senderLog][index] == 0, "number \(index) of sender \(senderLog) was delivered twice")
      else { return false }
      position[senderLog][index] = sent.count
      sent.append(senderLogs[senderLog].sent[index])
      keys.append(senderLogs[senderLog].keys[index])
      seen.append(call.at)
    }
    done = seen.dropFirst() + [trial.settled.end]
    let total = senderLogs.reduce(0) { $0 + $1.sent.count }
    let (unseen, unexcused) = countUnseen()
    guard checks.expect(.g21, last + unseen == total, "\(total) were sent, \(last) delivered") else { return false }
    checks.expect(
      .g21, unexcused == 0, "\(unexcused) occurrences reached no handler, though no event lock excuses that")
    return keepsRealTime()
  }

  /// Counts the occurrences that never reached the witness, the trial's first handler.
  ///
  /// Such an occurrence has no known position in the order.
  ///
  /// - Returns: In `unseen`, the number of all these occurrences. In `unexcused`, the number of the
  ///   occurrences among them that no lock of the event explains.
  private func countUnseen() -> (unseen: Int, unexcused: Int) {
    var (unseen, unexcused) = (0, 0)
    for senderLog in senderLogs {
      // An occurrence was delivered before all later ones of its sender. `latest` is a time by
      // which the next of these that reached the witness had been delivered. If there is none,
      // `latest` is the end of the trial.
      var latest = trial.settled.end
      for index in senderLog.sent.indices.reversed() {
        let place = position[senderLog.number][index]
        if place > 0 {
          latest = done[place]
          continue
        }
        unseen += 1
        let time = Span(start: senderLog.sent[index].start, end: latest)
        if trial.losesNothing
          || !trial.eventLocks.contains(where: { Span(start: $0.on.start, end: $0.off?.end ?? .max).overlaps(time) })
        {
          unexcused += 1
        }
      }
    }
    return (unseen, unexcused)
  }

  /// Checks the order against real time: if one send returned before another began, the occurrence
  /// of the earlier send comes first.
  private func keepsRealTime() -> Bool {
    var earliestEnd = UInt64.max
    for place in stride(from: last, to: 0, by: -1) {
      checks.expect(
        .g1, sent[place].start <= earliestEnd, "occurrence \(place) overtook one whose send had returned earlier")
      earliestEnd = min(earliestEnd, sent[place].end)
    }
    return true
  }

  // MARK: Within an occurrence

  /// Checks that inline handlers are called by priority, then in the order of their additions.
  private func judgeHandlerOrder() {
    var called = [[(at: UInt64, handlerLog: HandlerLog)]](repeating: [], count: sent.count)
    for handlerLog in handlerLogs where handlerLog.place.isInline {
      for call in handlerLog.calls {
        let place = position[Int(call.senderLog)][Int(call.index)]
        if place > 0 { called[place].append((call.at, handlerLog)) }
      }
    }
    for (place, calls) in called.enumerated() {
      let sorted = calls.sorted { $0.at < $1.at }
      checks.count(.g3, sorted.count)
      for (one, next) in zip(sorted, sorted.dropFirst()) where one.at < next.at {
        let isEarlier =
          one.handlerLog.priority == next.handlerLog.priority && next.handlerLog.adding.isBefore(one.handlerLog.adding)
        guard one.handlerLog.priority < next.handlerLog.priority || isEarlier else { continue }
        checks.violate(
          .g3,
          "occurrence \(place) came to \(next.handlerLog), of priority \(next.handlerLog.priority), after \(one.handlerLog), of \(one.handlerLog.priority)"
        )
      }
    }
  }

  // MARK: Reports

  /// Checks that a report accounts for every handler that the occurrence found, once.
  private func verify(_ report: SendReport, at place: Int) {
    let isRight = trial.losesNothing ? report.sequence == UInt64(place) : report.sequence >= UInt64(place)
    checks.expect(.g1, isRight, "the report of occurrence \(place) says \(report.sequence)")
    let called = report.delivered + report.failures.count + report.deferred + report.held
    checks.expect(.g21, called == callCounts[place], "occurrence \(place): \(callCounts[place]) calls; \(report)")
    // A deferred or held call may throw later. Then its failure is in no report.
    let (failed, due) = (report.failures.count, failureCounts[place])
    let isTold = failed <= due && due <= failed + report.deferred + report.held
    checks.expect(.g19, isTold, "occurrence \(place): \(due) calls threw, its report has \(failed) failures; \(report)")
    let found = called + report.skipped + report.dropped
    let (least, most) = handlersFound(at: place)
    checks.expect(
      .g21, least <= found && found <= most, "occurrence \(place) found \(least) to \(most) handlers; \(report)")
  }

  private func handlersFound(at place: Int) -> (least: Int, most: Int) {
    var (least, most) = (0, 0)
    for handlerLog in handlerLogs where handlerLog.audience.includes(keys[place]) {
      if sent[place].isBefore(handlerLog.adding) { continue }
      if let removing = handlerLog.removing, removing.isBefore(sent[place]) {
        // Only the main actor sees that the owner is gone. Until then occurrences find the handler.
        if handlerLog.hasOwner, handlerLog.place == .main { most += 1 }
        continue
      }
      most += 1
      if handlerLog.isOnce || !handlerLog.adding.isBefore(sent[place]) { continue }
      if let removing = handlerLog.removing, removing.start <= done[place] { continue }
      least += 1
    }
    return (least, most)
  }
}
