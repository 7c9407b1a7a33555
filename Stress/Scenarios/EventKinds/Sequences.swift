import Eventing

/// Iterates over a sequence for each kind of buffering, and pauses after every eighth payload.
/// Meanwhile other loops are started and cancelled, and handlers are added to an event with replay.
///
/// The payloads that a loop receives, and the payloads that it reports as missing, add up to all
/// that were sent (G15, G21). The payloads of each sender come in order (G2). When a cancelled loop
/// has ended, the event has no handler for that loop (G7). A new handler of an event that replays
/// everything receives everything once, in order (G1, G21).
struct Sequences: Scenario {
  static let name = "sequences"
  static let summary =
    "loops with every buffering, cancelled at any time, and new handlers with replay: no payload is lost uncounted"

  struct NumberedPayload: Sendable {
    let senderLog: Int
    let number: Int
    let canary: Canary
  }

  /// The payloads that one loop, or one new handler, received.
  // Safe: each log belongs to one loop or one handler, which accesses the log one call at a time.
  // The scenario reads the logs when no loop and no handler runs any more.
  final class Log: @unchecked Sendable {
    var last: [Int]
    var received = 0
    var missing = 0
    var sequences: [UInt64] = []

    init(_ senderLogs: Int) { last = Array(repeating: 0, count: senderLogs) }

    func take(_ numbered: NumberedPayload, _ checks: Checks, isWhole: Bool) {
      let due = last[numbered.senderLog] + 1
      checks.expect(
        .g2, isWhole ? numbered.number == due : numbered.number >= due,
        "expected number \(due) of a sender, received \(numbered.number)")
      last[numbered.senderLog] = numbered.number
      received += 1
    }
  }

  /// The counts and loops of one worker.
  // Safe: each worker has a `Desk` of its own. During a race, only this worker accesses the
  // variables. Between races, only the scenario does.
  final class Desk: @unchecked Sendable {
    var sent = 0
    var loops: [Task<Void, Never>] = []
    var newHandlers: [Log] = []
  }

  private static let bufferings: [Buffering] = [.unbounded, .oldest(8), .newest(8), .latest, .suspendingSender(8)]

  func round(_ context: ScenarioContext) async {
    let (event, history) = (
      Event<NumberedPayload>("sequences"), Event<NumberedPayload>("history", replaying: .last(.max))
    )
    context.watch(event)
    context.watch(history)
    let (checks, senderLogs) = (context.checks, context.workers.count)
    let desks = context.workers.map { _ in Desk() }
    let logs = Sequences.bufferings.map { _ in Log(senderLogs) }
    let consumers = zip(Sequences.bufferings, logs).map { buffering, log in
      let (arrivals, luck) = (event.arrivals(buffering: buffering), Random(seed: context.makeFate()))
      return Task { await Sequences.consume(arrivals, log, isWhole: buffering == .unbounded, checks, luck) }
    }
    await context.race(steps: 120) { worker in
      step(worker, desks[worker.index], event, history, checks)
    } inTask: { worker in
      if worker.random.oneIn(6) {
        await send(worker, desks[worker.index], event)
      } else {
        step(worker, desks[worker.index], event, history, checks)
      }
    }
    context.director.begin(.quiesce)
    for loop in desks.flatMap(\.loops) {
      if !loop.isCancelled { context.faults.count(.cancel) }
      loop.cancel()
      await loop.value
    }
    checks.expect(
      .g7, event.handlerCount == logs.count,
      "the event has \(event.handlerCount) sequences; \(logs.count) were not cancelled")
    event.finish()
    for consumer in consumers { await consumer.value }
    await history.quiesce()
    verify(context, desks, logs)
  }

  private static func consume(
    _ arrivals: some AsyncSequence<EventArrival<NumberedPayload>, Never>, _ log: Log, isWhole: Bool, _ checks: Checks,
    _ luck: Random
  ) async {
    var luck = luck
    for await arrival in arrivals {
      switch arrival {
      case .payload(let numbered): log.take(numbered, checks, isWhole: isWhole)
      case .dropped(let count): log.missing += count
      }
      await checks.faults.delayTask(&luck, isSuspended: false)
      if log.received % 8 == 0 { for _ in 0..<4 { await Task.yield() } }
    }
  }

  private func step(
    _ worker: Worker, _ desk: Desk, _ event: Event<NumberedPayload>, _ history: Event<NumberedPayload>, _ checks: Checks
  ) {
    switch worker.random.below(8) {
    case 0:
      let buffering = worker.random.pick(Sequences.bufferings)
      let payloads = worker.change(.add) { event.payloads(buffering: buffering) }.result
      let loop = Task {
        for await numbered in payloads where !numbered.canary.isAlive { checks.violate(.g22, "a payload was released") }
      }
      desk.loops.append(loop)
    case 1, 2:
      guard let loop = desk.loops.popLast() else { return }
      if !loop.isCancelled { checks.faults.count(.cancel) }
      worker.change(.remove) { loop.cancel() }
      desk.loops.insert(loop, at: 0)
    case 3:
      let log = Log(0)
      let isElsewhere = worker.random.oneIn(2)
      worker.change(.add) {
        if isElsewhere {
          history.occurrences.addHandler(on: .background) { log.sequences.append($0.sequence) }
        } else {
          history.occurrences.addHandler { log.sequences.append($0.sequence) }
        }
      }
      desk.newHandlers.append(log)
    case 4:
      worker.action(.post) {
        history.post(NumberedPayload(senderLog: worker.index, number: 0, canary: Canary(.payload)))
      }
    default: worker.action(.post) { event.post(next(worker, desk)) }
    }
  }

  private func send(_ worker: Worker, _ desk: Desk, _ event: Event<NumberedPayload>) async {
    let numbered = next(worker, desk)
    worker.begin(.send)
    var span = Span.open
    await worker.awaiting { _ = await event.send(numbered) }
    span.finish()
    worker.actions.append(span)
    worker.activityLog.end()
  }

  private func next(_ worker: Worker, _ desk: Desk) -> NumberedPayload {
    desk.sent += 1
    return NumberedPayload(senderLog: worker.index, number: desk.sent, canary: Canary(.payload))
  }

  private func verify(_ context: ScenarioContext, _ desks: [Desk], _ logs: [Log]) {
    let sent = desks.reduce(0) { $0 + $1.sent }
    for (buffering, log) in zip(Sequences.bufferings, logs) {
      context.checks.expect(
        buffering == .unbounded ? .g21 : .g15, log.received + log.missing == sent,
        "a loop with \(buffering) received \(log.received) and missed \(log.missing); \(sent) were sent")
      context.must += buffering == .unbounded ? sent : 0
      context.did += log.received
      context.may += sent
    }
    let newHandlers = desks.flatMap(\.newHandlers)
    let all = newHandlers.map(\.sequences.count).max() ?? 0
    for log in newHandlers {
      context.checks.expect(
        .g21, log.sequences == (0..<UInt64(all)).map { $0 + 1 },
        "a new handler received \(log.sequences.count) of \(all), or another order")
    }
    context.remarks["loops cancelled", default: 0] += desks.reduce(0) { $0 + $1.loops.count }
    context.remarks["newHandlers told everything", default: 0] += newHandlers.count
    context.countOverlaps()
  }
}
