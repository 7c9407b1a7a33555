// Looks for stuck calls and growing lanes. The timer fires at intervals of half the limit for stuck
// calls, and each time it looks at the running calls and at what waits on the lanes. A call that is
// reported was running at three looks in a row, so it has run for at least the limit, and for less
// than twice the limit. Looks are counted and no clock is read. The timer does not fire while a
// debugger stops the process or the computer sleeps, so such a pause does not make a call count as
// stuck.

extension EventDiagnostics {
  /// The running calls, and the lanes with waiting occurrences, as the last look found them.
  struct Looks: Sendable {
    /// The number of looks that have seen each running call, by the number of the call.
    fileprivate var calls: [UInt64: Int] = [:]
    /// The lanes on which occurrences waited, by the number of the handler; `nil` before the first
    /// look.
    fileprivate var lanes: [UInt64: Backlog]?
  }

  /// The number of occurrences that waited on a lane at one look of the timer. The next look
  /// compares its own number with this one, and with the limit.
  fileprivate struct Backlog {
    let count: Int
    /// The number above which a lane that grows is reported. Each report sets the limit to twice
    /// the reported number.
    var limit: Int
  }

  /// The number of waiting occurrences up to which no lane is reported.
  static var backlogLimit: Int { 1_024 }

  /// Reports the calls that hang and the lanes that grow. The timer calls this at intervals of half
  /// the limit for stuck calls.
  package func look() {
    guard let stuck else { return }
    for call in stuckCalls() {
      report(
        Finding(
          .stuckHandler, call.observed.observers.event, handler: call.handler,
          duration: StableInstant.now.since(call.start), waitingCount: call.lane?.waitingCount ?? 0,
          on: call.lane?.sharedLane, waits: WaitingSends.waits(for: call), limit: .duration(stuck)))
    }
    for (lane, count, limit) in growingLanes() {
      report(
        Finding(
          .growingLane, lane.event, handler: lane.handler, waitingCount: count, on: lane.lane?.sharedLane,
          limit: .count(limit)))
    }
  }

  /// Returns the calls that exactly three looks have seen, this one included.
  private func stuckCalls() -> [RunningCalls.Call] {
    let running = RunningCalls.all.filter { $0.observed.observers.include(self) }
    let ages = looks.withLock { looks in
      let before = looks.calls
      looks.calls = [:]
      return running.map { call in
        let age = (before[call.number] ?? 0) + 1
        looks.calls[call.number] = age
        return age
      }
    }
    return zip(running, ages).filter { $0.1 == 3 }.map(\.0)
  }

  /// Returns the lanes that grow, each with the number of occurrences that wait, and the limit that
  /// this number exceeds.
  private func growingLanes() -> [(lane: WatchedLane, count: Int, limit: Int)] {
    let waiting = lanes.compactMap { watched in
      watched.lane.map { (watched: watched, count: $0.waitingCount, isLocked: $0.record.has(HandlerFlags.lockedAtAll)) }
    }
    return looks.withLock { looks in
      let before = looks.lanes
      var after: [UInt64: Backlog] = [:]
      var growing: [(WatchedLane, Int, Int)] = []
      for lane in waiting where lane.count > 0 {
        let last = before?[lane.watched.handler.id]
        var limit = lane.count > Self.backlogLimit ? last?.limit ?? Self.backlogLimit : Self.backlogLimit
        if before != nil, !lane.isLocked, lane.count > last?.count ?? 0, lane.count > limit {
          growing.append((lane.watched, lane.count, limit))
          limit = 2 * lane.count
        }
        after[lane.watched.handler.id] = Backlog(count: lane.count, limit: limit)
      }
      looks.lanes = after
      return growing
    }
  }
}
