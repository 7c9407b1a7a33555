import Eventing

/// Compares the arrivals at every event of a network with the arrivals that had to happen and that
/// could happen.
struct NetworkVerifier {
  /// An occurrence that arrived at one event by one path.
  private struct Key: Hashable {
    let node: Int
    let senderLog: Int32
    let index: Int32
    let path: [Int]
  }
  private struct DeliveryInterval {
    let at: UInt64
    /// A time by which the event had delivered the occurrence to all its handlers and forwards.
    let done: UInt64
    let sent: Span
  }

  let network: Network
  let context: ScenarioContext
  /// The times during which each edge existed.
  let lives: [[Network.Life]]
  /// For each sender, the events that its payloads were sent to, in order.
  let origins: [[Int]]
  /// For each sender, the numbers of the payloads whose `send` it awaited.
  let sends: [Set<Int>]
  let settled: UInt64

  private var checks: Checks { context.checks }
  private var intervals: [Key: DeliveryInterval] = [:]

  init(
    _ network: Network, _ context: ScenarioContext, lives: [[Network.Life]], origins: [[Int]], sends: [Set<Int>],
    settled: UInt64
  ) {
    (self.network, self.context, self.settled) = (network, context, settled)
    (self.lives, self.origins, self.sends) = (lives, origins, sends)
  }

  mutating func run() {
    for node in network.nodes.indices { collect(node) }
    judgeDirect()
    for (key, interval) in intervals {
      context.did += 1
      judgeArrival(key, interval)
      judgeDepartures(key, interval)
    }
    for (number, node) in network.nodes.enumerated() { judgeLanes(number, node) }
    judgeReports()
  }

  // MARK: Arrivals

  private mutating func collect(_ node: Int) {
    let arrivals = network.nodes[node].arrivals
    var last: [[Int]: [Int32]] = [:]
    let none = [Int32](repeating: -1, count: origins.count)
    for (number, arrival) in arrivals.enumerated() {
      guard let path = Network.path(of: arrival, to: node) else {
        checks.violate(.g23, "an occurrence arrived at event \(node), which no edges connect to \(arrival.origin)")
        continue
      }
      let visited = [arrival.origin] + path.map { Network.edges[$0].target }
      checks.expect(.g23, Set(visited).count == visited.count, "an occurrence went round a cycle: \(visited)")
      let before = last[path, default: none][Int(arrival.senderLog)]
      checks.expect(
        .g2, arrival.index > before,
        "event \(node), by \(path): number \(arrival.index) of a sender arrived after \(before)")
      last[path, default: none][Int(arrival.senderLog)] = arrival.index
      let key = Key(node: node, senderLog: arrival.senderLog, index: arrival.index, path: path)
      let done = number + 1 < arrivals.count ? arrivals[number + 1].at : settled
      let sent = context.workers[Int(arrival.senderLog)].senderLog.sent[Int(arrival.index)]
      checks.expect(.g23, intervals[key] == nil, "event \(node) was reached twice by \(path)")
      intervals[key] = DeliveryInterval(at: arrival.at, done: done, sent: sent)
    }
  }

  /// Checks that every payload arrived at the event that it was sent to.
  private func judgeDirect() {
    for (senderLog, origins) in origins.enumerated() {
      context.must += origins.count
      context.may += origins.count
      for (index, origin) in origins.enumerated() {
        let isThere = intervals[Key(node: origin, senderLog: Int32(senderLog), index: Int32(index), path: [])] != nil
        checks.expect(.g21, isThere, "number \(index) of sender \(senderLog) never arrived")
      }
    }
  }

  /// Checks the last edge of an arrival's path: the occurrence had arrived at the edge's source
  /// before, and the edge existed then.
  private func judgeArrival(_ key: Key, _ interval: DeliveryInterval) {
    guard let number = key.path.last else { return }
    let edge = Network.edges[number]
    let source = Key(node: edge.source, senderLog: key.senderLog, index: key.index, path: key.path.dropLast())
    guard let from = intervals[source] else {
      return checks.violate(.g23, "event \(key.node) was reached by \(key.path), but its last source was not")
    }
    checks.expect(.g23, from.at <= interval.at, "an occurrence left event \(edge.source) before it arrived there")
    checks.expect(.g23, edge.lets(key.index), "edge \(number) passed a payload that it filters out")
    checks.count(.g6, 1)
    let couldJoin = lives[number].filter {
      $0.adding.start <= from.at && !(source.path.isEmpty && from.sent.isBefore($0.adding))
    }
    if couldJoin.isEmpty { checks.violate(.g6, "edge \(number) was passed before it was added") }
    // The first handler of the source event logged the time `from.at`. The handler of the edge runs
    // after that handler. So if the removal of the edge had returned before `from.at`, the
    // occurrence must not have passed the edge.
    let isThere = couldJoin.contains { $0.removing.map { from.at <= $0.end } ?? true }
    checks.expect(.g7, isThere || couldJoin.isEmpty, "edge \(number) was passed after it had been removed")
  }

  // MARK: Missing arrivals

  /// Checks that an occurrence at the source of an edge passed the edge, if the edge existed during
  /// the whole delivery. The occurrence may be missing if the edge's filter stopped it, or if it
  /// visited the target earlier.
  private func judgeDepartures(_ key: Key, _ interval: DeliveryInterval) {
    let parent = key.path.last.flatMap { last in
      intervals[
        Key(node: Network.edges[last].source, senderLog: key.senderLog, index: key.index, path: key.path.dropLast())]
    }
    let entered = parent?.at ?? interval.sent.start  // the earliest possible time
    let visited = key.path.map { Network.edges[$0].source } + [key.node]
    for (number, edge) in Network.edges.enumerated()
    where edge.source == key.node && edge.lets(key.index) && !visited.contains(edge.target) {
      let could = lives[number].contains { life in
        life.adding.start <= interval.at && life.removing.map { interval.at <= $0.end } ?? true
      }
      if could { context.may += 1 }
      let had = lives[number].contains { life in
        life.adding.end < entered && life.removing.map { interval.done < $0.start } ?? true
      }
      guard had else { continue }
      context.must += 1
      let isThere =
        intervals[Key(node: edge.target, senderLog: key.senderLog, index: key.index, path: key.path + [number])] != nil
      checks.expect(
        .g23, isThere,
        "edge \(number) existed, but did not pass what arrived at \(edge.source) by \(key.path)")
    }
  }

  // MARK: Lanes and reports

  /// Checks that the lane handlers of an event received the occurrences that its inline handler
  /// received, in the same order. Checks that each awaited `send` returned after the lane handlers
  /// had received its occurrence.
  private func judgeLanes(_ number: Int, _ node: Network.Node) {
    for (lane, heard) in [("background", node.queued), ("asynchronous", node.awaited)] {
      checks.expect(
        .g21, heard.count == node.arrivals.count,
        "event \(number) received \(node.arrivals.count) occurrences, its \(lane) handler \(heard.count)")
      checks.count(.g13, heard.count)
      let wrong = zip(heard, node.arrivals).count { !$0.isSame(as: $1) }
      if wrong > 0 {
        checks.violate(.g13, "\(wrong) calls of the \(lane) handler of event \(number) were out of order")
      }
      for call in heard where sends[Int(call.senderLog)].contains(Int(call.index)) {
        let sent = context.workers[Int(call.senderLog)].senderLog.sent[Int(call.index)]
        let isAwaited = call.at <= sent.end
        checks.expect(
          .g16, isAwaited, "a send returned before the \(lane) handler of its target \(number) had finished")
      }
    }
  }

  /// Checks that a report counts the handlers of its own event: three, and each forward whose
  /// target accepted the occurrence.
  private func judgeReports() {
    for worker in context.workers {
      for (index, report) in worker.senderLog.reports {
        let origin = origins[worker.index][index]
        guard origin != Network.guestHouse else { continue }
        let forwards = Network.edges.indices.count { edge in
          Network.edges[edge].source == origin
            && intervals[
              Key(node: Network.edges[edge].target, senderLog: Int32(worker.index), index: Int32(index), path: [edge])]
              != nil
        }
        let called = report.delivered + report.failures.count
        checks.expect(
          .g21, called == 3 + forwards, "expected three handlers and \(forwards) forwards: \(report)")
        checks.expect(.g19, report.failures.count <= 3, "expected at most three failures: \(report)")
        checks.expect(.g16, report.deferred == 0 && report.dropped == 0, "expected none deferred or dropped: \(report)")
        let edges = Network.edges.count { $0.source == origin }
        checks.expect(.g21, report.skipped <= edges - forwards, "expected at most \(edges) forwards: \(report)")
      }
    }
  }

  /// Checks the numbers of arrivals for payloads that were sent while every edge existed: one for
  /// each path.
  ///
  /// - Parameter first: The number of each sender's first such payload.
  func judgeCounts(from first: [Int]) {
    var counts: [[Int]: Int] = [:]
    for key in intervals.keys { counts[[key.node, Int(key.senderLog), Int(key.index)], default: 0] += 1 }
    for (senderLog, origins) in origins.enumerated() {
      for index in first[senderLog]..<origins.count {
        let due = Network.counts(of: Int32(index), from: origins[index])
        let came = network.nodes.indices.map { counts[[$0, senderLog, index], default: 0] }
        checks.expect(
          .g23, came == due,
          "expected \(due) arrivals by the paths from event \(origins[index]); got \(came)")
      }
    }
  }
}
