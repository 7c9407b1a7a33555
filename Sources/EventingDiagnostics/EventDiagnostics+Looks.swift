import Eventing

// Looks for stuck calls, blocked lanes and growing lanes. The timer fires at intervals of half the
// limit for stuck calls, and each time it looks at the running calls and at what waits on the
// lanes. A call that is reported was running at three looks in a row, so it has run for at least
// the limit, and for less than twice the limit. Looks are counted, and the clock decides nothing.
// The timer does not fire while a debugger stops the process or the computer sleeps, so such a
// pause does not make a call count as stuck.

extension EventDiagnostics {
  struct Looks: Sendable {
    /// Looks that have seen each running call, by the number of the call.
    fileprivate var calls: [UInt64: Int] = [:]
    /// By the number of the handler; `nil` before the first look.
    fileprivate var lanes: [UInt64: Backlog]?
    /// Lanes on which calls waited and none ran, by the number of the handler.
    fileprivate var stalls: [UInt64: Stall] = [:]
  }

  fileprivate struct Stall {
    /// Calls that the lane has begun or skipped so far.
    let progress: Int
    /// The first look that found the lane so.
    let start: ContinuousClock.Instant
    /// Looks that have found the lane so.
    var looks = 0
    var waitingCount = 0
  }

  /// The backlog of a lane at one look, to compare the next one with.
  fileprivate struct Backlog {
    let count: Int
    /// Above it, a growing lane is reported. Each report sets it to twice the reported number.
    var limit: Int
  }

  /// No lane is reported up to this number.
  static var backlogLimit: Int { 1_024 }

  /// Called by the timer, at intervals of half the limit for stuck calls.
  package func look() {
    guard let stuck else { return }
    let (calls, blocked) = (stuckCalls(), blockedLanes())
    var waits = calls.isEmpty && blocked.isEmpty ? nil : WaitingSends.Look()
    for call in calls {
      report(
        Finding(
          .stuckHandler, call.event, handler: call.handler, duration: call.duration,
          waitingCount: call.laneLoad?.waitingCount ?? 0, on: call.laneLoad?.sharedLane,
          waits: waits?.waits(for: call) ?? [], limit: .duration(stuck)))
    }
    for (watched, load, stall) in blocked {
      report(
        Finding(
          .blockedLane, watched.event, handler: watched.handler, duration: .now - stall.start,
          waitingCount: stall.waitingCount, waits: waits?.waits(behind: load) ?? [], limit: .duration(stuck)))
    }
    for (watched, lane, count, limit) in growingLanes() {
      report(
        Finding(
          .growingLane, watched.event, handler: watched.handler, waitingCount: count, on: lane, limit: .count(limit)))
    }
  }

  /// Exactly three looks have seen them, this one included.
  private func stuckCalls() -> [RunningCall] {
    let running = runningCalls
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

  /// Exactly three looks, this one included, have found them so, without progress in between.
  private func blockedLanes() -> [(watched: WatchedHandler, load: LaneLoad, stall: Stall)] {
    let waiting = lanes.compactMap { watched -> (watched: WatchedHandler, load: LaneLoad, found: LaneLoad.Stall)? in
      guard let load = watched.lane.load, let stall = load.stall else { return nil }
      return (watched, load, stall)
    }
    let now = ContinuousClock.now
    return looks.withLock { looks in
      let before = looks.stalls
      looks.stalls = [:]
      return waiting.compactMap { watched, load, found in
        var stall = Stall(progress: found.progress, start: now)
        if let earlier = before[watched.handler.id], earlier.progress == found.progress { stall = earlier }
        stall.looks += 1
        stall.waitingCount = found.waitingCount
        looks.stalls[watched.handler.id] = stall
        return stall.looks == 3 ? (watched, load, stall) : nil
      }
    }
  }

  /// With the number of waiting occurrences, and the limit that it exceeds.
  private func growingLanes() -> [(watched: WatchedHandler, lane: HandlerLane?, count: Int, limit: Int)] {
    let waiting = lanes.compactMap { watched in
      watched.lane.load.map { (watched: watched, lane: $0.sharedLane, count: $0.waitingCount, isLocked: $0.isLocked) }
    }
    return looks.withLock { looks in
      let before = looks.lanes
      var after: [UInt64: Backlog] = [:]
      var growing: [(WatchedHandler, HandlerLane?, Int, Int)] = []
      for lane in waiting where lane.count > 0 {
        let last = before?[lane.watched.handler.id]
        var limit = lane.count > Self.backlogLimit ? last?.limit ?? Self.backlogLimit : Self.backlogLimit
        if before != nil, !lane.isLocked, lane.count > last?.count ?? 0, lane.count > limit {
          growing.append((lane.watched, lane.lane, lane.count, limit))
          limit = 2 * lane.count
        }
        after[lane.watched.handler.id] = Backlog(count: lane.count, limit: limit)
      }
      looks.lanes = after
      return growing
    }
  }
}
