import Eventing

/// Verifies the handlers of a trial, one by one. Checks each call against the order, the additions,
/// the removals and the locks, and checks each missing call.
struct HandlerVerifier {
  let all: Verifier
  let checks: Checks
  private(set) var callCounts: [Int]
  private(set) var failureCounts: [Int]
  private(set) var must = 0
  private(set) var may = 0
  private(set) var did = 0

  init(_ all: Verifier) {
    self.all = all
    checks = all.checks
    (callCounts, failureCounts) = (all.callCounts, all.failureCounts)
  }

  /// A call and the send that caused it.
  private struct Heard {
    /// The position in the event's order. 0 if an event lock kept the occurrence from the witness,
    /// the trial's first handler.
    let place: Int
    let sent: Span
    let at: UInt64
    let isFailure: Bool
  }

  mutating func verify(_ handlerLog: HandlerLog) {
    let heard = handlerLog.calls.map { call in
      let (senderLog, index) = (Int(call.senderLog), Int(call.index))
      let isFailure = handlerLog.isFailing(senderLog, index)
      return Heard(
        place: all.position[senderLog][index], sent: all.senderLogs[senderLog].sent[index], at: call.at,
        isFailure: isFailure)
    }
    let placed = heard.filter { $0.place > 0 }
    did += heard.count
    for call in placed {
      callCounts[call.place] += 1
      if call.isFailure { failureCounts[call.place] += 1 }
    }
    judgeOrder(handlerLog, placed)
    judgeRemoval(handlerLog, heard)
    for mute in handlerLog.locks + all.trial.eventLocks { judgeSilence(handlerLog, heard, mute) }
    if handlerLog.isOnce { judgeOnce(handlerLog, heard) } else { judgeHoles(handlerLog, placed) }
  }

  // MARK: Calls

  private func judgeOrder(_ handlerLog: HandlerLog, _ heard: [Heard]) {
    checks.count(handlerLog.place.isInline ? .g1 : .g13, heard.count)
    if handlerLog.place.isInOrder {
      for (one, next) in zip(heard, heard.dropFirst()) where next.place <= one.place {
        let guarantee: Guarantee = next.place == one.place ? .g21 : handlerLog.place.isInline ? .g1 : .g13
        checks.violate(guarantee, "\(handlerLog) was called with occurrence \(next.place) after \(one.place)")
      }
    } else {
      let different = Set(heard.map(\.place)).count
      if different < heard.count {
        checks.violate(.g21, "\(handlerLog) received \(heard.count - different) occurrences more than once")
      }
    }
    checks.count(.g6, heard.count)
    for call in heard where call.sent.isBefore(handlerLog.adding) {
      checks.violate(.g6, "\(handlerLog) was called with occurrence \(call.place), which was sent before it was added")
    }
  }

  /// Checks the calls that began after `remove` had returned.
  ///
  /// If ``HandlerLog/isRemovalStrict``, no such call may begin. Otherwise only calls that were
  /// claimed before the removal may begin: at most ``HandlerPlace/mostInFlight``.
  private func judgeRemoval(_ handlerLog: HandlerLog, _ heard: [Heard]) {
    guard let removing = handlerLog.removing else { return }
    let guarantee: Guarantee = handlerLog.hasOwner ? .g10 : .g7
    checks.count(guarantee, 1)
    for call in heard where removing.isBefore(call.sent) {
      checks.violate(
        guarantee,
        "\(handlerLog) was called with occurrence \(call.place), which was sent after its removal had returned")
    }
    let late = heard.count { $0.at > removing.end }
    let allowed = handlerLog.isRemovalStrict ? 0 : handlerLog.place.mostInFlight
    if late > allowed {
      checks.violate(guarantee, "\(late) calls of \(handlerLog) began after its removal ended; at most \(allowed) may")
    }
  }

  /// Checks the calls that began between the return of `lock` and the call of `unlock`.
  ///
  /// Of these, only calls that were claimed before the lock are allowed: at most
  /// ``HandlerPlace/mostInFlight``.
  private func judgeSilence(_ handlerLog: HandlerLog, _ heard: [Heard], _ mute: HandlerLog.LockSpan) {
    checks.count(.g9, 1)
    let until = mute.off?.start ?? .max
    var late = 0
    for call in heard[(handlerLog.place.isInOrder ? firstCall(in: heard, after: mute.on.end) : 0)...] {
      if call.at >= until, handlerLog.place.isInOrder { break }
      guard call.at > mute.on.end, call.at < until else { continue }
      late += 1
      if mute.on.end < call.sent.start {
        checks.violate(
          .g9, "\(handlerLog) was called with occurrence \(call.place), sent while it was locked, before the unlock")
      }
    }
    let allowed = handlerLog.place.mostInFlight
    if late > allowed {
      checks.violate(.g9, "\(late) calls of \(handlerLog) began while it was locked; at most \(allowed) may")
    }
  }

  private func firstCall(in heard: [Heard], after time: UInt64) -> Int {
    var (low, high) = (0, heard.count)
    while low < high {
      let middle = (low + high) / 2
      if heard[middle].at > time { high = middle } else { low = middle + 1 }
    }
    return low
  }

  // MARK: Missing calls

  /// Checks that every occurrence sent while the handler was registered was delivered, unless a
  /// lock explains why not.
  private mutating func judgeHoles(_ handlerLog: HandlerLog, _ heard: [Heard]) {
    var next = 0
    let sorted = handlerLog.place.isInOrder ? heard : heard.sorted { $0.place < $1.place }
    for place in 1..<max(1, all.sent.count) where handlerLog.audience.includes(all.keys[place]) {
      let isCalled = next < sorted.count && sorted[next].place == place
      if isCalled { next += 1 }
      if all.sent[place].isBefore(handlerLog.adding) { continue }
      if let removing = handlerLog.removing, removing.isBefore(all.sent[place]) { continue }
      may += 1
      guard handlerLog.adding.isBefore(all.sent[place]) else { continue }
      guard isCalled || !isEndedBefore(place, handlerLog, hasLaterCall: next < sorted.count) else { continue }
      let isFollowed = next < sorted.count && handlerLog.place.isInOrder
      let latest = handlerLog.place.isInline ? all.done[place] : isFollowed ? sorted[next].at : all.trial.settled.end
      if !isCalled, isExcused(handlerLog, Span(start: all.sent[place].start, end: latest)) { continue }
      must += 1
      checks.count(.g6, 1)
      if !isCalled { checks.violate(.g6, "occurrence \(place), sent after \(handlerLog) was added, never reached it") }
    }
  }

  /// Returns whether the handler may have been removed before the occurrence reached it.
  ///
  /// - Parameter hasLaterCall: Whether the handler was called with a later occurrence. Then an
  ///   in-order handler had not been removed.
  private func isEndedBefore(_ place: Int, _ handlerLog: HandlerLog, hasLaterCall: Bool) -> Bool {
    guard let removing = handlerLog.removing else { return false }
    if handlerLog.place.isInOrder, hasLaterCall { return false }
    return !(handlerLog.place.isInline && all.done[place] < removing.start)
  }

  private func isExcused(_ handlerLog: HandlerLog, _ time: Span) -> Bool {
    guard all.trial.holding == nil else { return false }
    let locks = all.trial.eventLocks.isEmpty ? handlerLog.locks : handlerLog.locks + all.trial.eventLocks
    return locks.contains { Span(start: $0.on.start, end: $0.off?.end ?? .max).overlaps(time) }
  }

  /// Checks a once handler.
  ///
  /// If an occurrence had to reach the handler, there is exactly one call; otherwise at most one.
  /// An in-order handler is called with the first such occurrence or an earlier one.
  private mutating func judgeOnce(_ handlerLog: HandlerLog, _ heard: [Heard]) {
    checks.expect(.g8, heard.count <= 1, "\(handlerLog) was called \(heard.count) times")
    let first = (1..<max(1, all.sent.count)).first { place in
      handlerLog.audience.includes(all.keys[place])
        && handlerLog.adding.isBefore(all.sent[place])
        && !isEndedBefore(place, handlerLog, hasLaterCall: false)
        && !isExcused(
          handlerLog,
          Span(start: all.sent[place].start, end: handlerLog.place.isInline ? all.done[place] : all.trial.settled.end)
        )
    }
    may += 1
    guard let first else { return }
    must += 1
    if checks.expect(.g8, heard.count == 1, "\(handlerLog) was not called, though occurrence \(first) had to reach it")
    {
      // If calls may overlap, two occurrences race for the single call of a once handler.
      guard handlerLog.place.isInOrder else { return }
      checks.expect(
        .g8, heard[0].place <= first,
        "\(handlerLog) was called with occurrence \(heard[0].place), but \(first) had to use it up")
    }
  }
}
