import Eventing

/// Judges the handlers of a trial, one by one: each call against the order, the additions, removals and locks, and each call that is missing.
struct HandlerJudge {
  let all: Judge
  let checks: Checks
  private(set) var callCounts: [Int]
  private(set) var failureCounts: [Int]
  private(set) var must = 0
  private(set) var may = 0
  private(set) var did = 0

  init(_ all: Judge) {
    self.all = all
    checks = all.checks
    (callCounts, failureCounts) = (all.callCounts, all.failureCounts)
  }

  /// One call and the send that it belongs to.
  private struct Heard {
    /// In the order of the event; 0 if a lock of the event kept it from the witness.
    let place: Int
    let sent: Span
    let at: UInt64
    let isFailure: Bool
  }

  mutating func judge(_ probe: Probe) {
    let heard = probe.calls.map { call in
      let (voice, index) = (Int(call.voice), Int(call.index))
      let isFailure = probe.isFailing(voice, index)
      return Heard(
        place: all.position[voice][index], sent: all.voices[voice].sent[index], at: call.at, isFailure: isFailure)
    }
    let placed = heard.filter { $0.place > 0 }
    did += heard.count
    for call in placed {
      callCounts[call.place] += 1
      if call.isFailure { failureCounts[call.place] += 1 }
    }
    judgeOrder(probe, placed)
    judgeRemoval(probe, heard)
    for mute in probe.mutes + all.trial.gates { judgeSilence(probe, heard, mute) }
    if probe.isOnce { judgeOnce(probe, heard) } else { judgeHoles(probe, placed) }
  }

  // MARK: What was called

  private func judgeOrder(_ probe: Probe, _ heard: [Heard]) {
    checks.count(probe.place.isInline ? .g1 : .g13, heard.count)
    if probe.place.isInOrder {
      for (one, next) in zip(heard, heard.dropFirst()) where next.place <= one.place {
        let guarantee: Guarantee = next.place == one.place ? .g21 : probe.place.isInline ? .g1 : .g13
        checks.violate(guarantee, "\(probe) was called with occurrence \(next.place) after \(one.place)")
      }
    } else {
      let different = Set(heard.map(\.place)).count
      if different < heard.count {
        checks.violate(.g21, "\(probe) was called \(heard.count - different) times twice with one occurrence")
      }
    }
    checks.count(.g6, heard.count)
    for call in heard where call.sent.isBefore(probe.adding) {
      checks.violate(.g6, "\(probe) was called with occurrence \(call.place), which was sent before it was added")
    }
  }

  /// After `remove` has returned: nothing on the handler's own context; elsewhere only what had been decided before, one call at most.
  private func judgeRemoval(_ probe: Probe, _ heard: [Heard]) {
    guard let removing = probe.removing else { return }
    let guarantee: Guarantee = probe.hasOwner ? .g10 : .g7
    checks.count(guarantee, 1)
    for call in heard where removing.isBefore(call.sent) {
      checks.violate(
        guarantee, "\(probe) was called with occurrence \(call.place), which was sent after its removal had returned")
    }
    let late = heard.count { $0.at > removing.end }
    let allowed = probe.isRemovalStrict ? 0 : probe.place.mostInFlight
    if late > allowed {
      checks.violate(guarantee, "\(late) calls of \(probe) began after its removal had returned; \(allowed) may")
    }
  }

  /// The same from the return of `lock` to the call of `unlock`.
  private func judgeSilence(_ probe: Probe, _ heard: [Heard], _ mute: Probe.Mute) {
    checks.count(.g9, 1)
    let until = mute.off?.start ?? .max
    var late = 0
    for call in heard[(probe.place.isInOrder ? firstCall(in: heard, after: mute.on.end) : 0)...] {
      if call.at >= until, probe.place.isInOrder { break }
      guard call.at > mute.on.end, call.at < until else { continue }
      late += 1
      if mute.on.end < call.sent.start {
        checks.violate(
          .g9, "\(probe) was called with occurrence \(call.place), sent while it was locked, before the unlock")
      }
    }
    let allowed = probe.place.mostInFlight
    if late > allowed { checks.violate(.g9, "\(late) calls of \(probe) began while it was locked; \(allowed) may") }
  }

  private func firstCall(in heard: [Heard], after time: UInt64) -> Int {
    var (low, high) = (0, heard.count)
    while low < high {
      let middle = (low + high) / 2
      if heard[middle].at > time { high = middle } else { low = middle + 1 }
    }
    return low
  }

  // MARK: What was not called

  /// Every occurrence that was sent while the handler was there, and that no lock excuses, was delivered to it.
  private mutating func judgeHoles(_ probe: Probe, _ heard: [Heard]) {
    var next = 0
    let sorted = probe.place.isInOrder ? heard : heard.sorted { $0.place < $1.place }
    for place in 1..<max(1, all.sent.count) where probe.audience.includes(all.keys[place]) {
      let isCalled = next < sorted.count && sorted[next].place == place
      if isCalled { next += 1 }
      if all.sent[place].isBefore(probe.adding) { continue }
      if let removing = probe.removing, removing.isBefore(all.sent[place]) { continue }
      may += 1
      guard probe.adding.isBefore(all.sent[place]) else { continue }
      guard isCalled || !isEndedBefore(place, probe, hasLaterCall: next < sorted.count) else { continue }
      let isFollowed = next < sorted.count && probe.place.isInOrder
      let latest = probe.place.isInline ? all.done[place] : isFollowed ? sorted[next].at : all.trial.settled.end
      if !isCalled, isExcused(probe, Span(start: all.sent[place].start, end: latest)) { continue }
      must += 1
      checks.count(.g6, 1)
      if !isCalled { checks.violate(.g6, "occurrence \(place), sent after \(probe) was added, never reached it") }
    }
  }

  /// Whether the handler may have been gone when this occurrence's turn came.
  private func isEndedBefore(_ place: Int, _ probe: Probe, hasLaterCall: Bool) -> Bool {
    guard let removing = probe.removing else { return false }
    if probe.place.isInOrder, hasLaterCall { return false }
    return !(probe.place.isInline && all.done[place] < removing.start)
  }

  private func isExcused(_ probe: Probe, _ time: Span) -> Bool {
    guard all.trial.holding == .nothing else { return false }
    let mutes = all.trial.gates.isEmpty ? probe.mutes : probe.mutes + all.trial.gates
    return mutes.contains { Span(start: $0.on.start, end: $0.off?.end ?? .max).overlaps(time) }
  }

  /// Exactly one call if anything had to reach it, and no later than that; at most one otherwise.
  private mutating func judgeOnce(_ probe: Probe, _ heard: [Heard]) {
    checks.expect(.g8, heard.count <= 1, "\(probe) was called \(heard.count) times")
    let first = (1..<max(1, all.sent.count)).first { place in
      probe.audience.includes(all.keys[place])
        && probe.adding.isBefore(all.sent[place])
        && !isEndedBefore(place, probe, hasLaterCall: false)
        && !isExcused(
          probe, Span(start: all.sent[place].start, end: probe.place.isInline ? all.done[place] : all.trial.settled.end)
        )
    }
    may += 1
    guard let first else { return }
    must += 1
    if checks.expect(.g8, heard.count == 1, "\(probe) was not called, though occurrence \(first) had to reach it") {
      // Where calls may overlap, those of two occurrences race for it.
      guard probe.place.isInOrder else { return }
      checks.expect(
        .g8, heard[0].place <= first,
        "\(probe) was called with occurrence \(heard[0].place), but \(first) had to use it up")
    }
  }
}
