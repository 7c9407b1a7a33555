import Eventing
import Synchronization

/// Releases the last reference to an event while other operations run: while threads post to the
/// event, within one of its handlers, and while tickets are open.
///
/// Every occurrence must be delivered nevertheless (G12). Afterwards everything must be deallocated
/// (G22). Some payloads post in their `deinit`.
struct Ending: Scenario {
  static let name = "release"
  static let summary =
    "the last reference to an event is released during sends, or in a handler: all is delivered, then freed"

  /// One worker's reference to an event, and the tickets of its submits.
  // Safe: accessed by that worker alone during a race, and by the scenario between races.
  final class Share: @unchecked Sendable {
    var event: Event<StressPayload>?
    var tickets: [SendTicket] = []

    init(_ event: Event<StressPayload>) { self.event = event }
  }

  /// An event that all workers retain, until each of them releases it.
  final class Shared: Sendable {
    let shares: [Share]
    let posted = Counter()
    let calls = (0..<4).map { _ in Counter() }

    init(_ context: ScenarioContext) {
      let event = Event<StressPayload>("ending")
      shares = context.workers.map { _ in Share(event) }
      for (number, counter) in calls.enumerated() {
        let (canary, faults, fate) = (Canary(.handler), context.faults, context.makeFate())
        let count: @Sendable () throws -> Void = { if canary.isAlive { try faults.meet(fate, counter.add()) } }
        switch number {
        case 0: event.addHandler { _ in try count() }
        case 1: event.addHandler(on: .background) { _ in try count() }
        case 2:
          event.addHandler { _ in
            await Task.yield(); try count()
          }
        default: event.addHandler(on: .main) { _ in try count() }
        }
      }
    }
  }

  func round(_ context: ScenarioContext) async {
    let lots = (0..<24).map { _ in Pair(context) }
    await context.race(steps: lots.count) { worker in
      let lot = lots[worker.changes.count]
      use(lot.shared, by: worker)
      if worker.random.oneIn(4) { Ending.dropWithin(worker, context) }
    }
    context.faults.count(.drop, lots.count)
    for lot in lots { await verify(lot, context) }
    context.countOverlaps()
  }

  /// A shared event, with a weak reference to see when it is deallocated.
  struct Pair: Sendable {
    let shared: Shared
    weak let event: Event<StressPayload>?

    init(_ context: ScenarioContext) {
      shared = Shared(context)
      event = shared.shares.first?.event
    }
  }

  /// Sends a few payloads, and releases the worker's reference to the event. When the last worker
  /// has done so, nothing refers to the event any more.
  private func use(_ shared: Shared, by worker: Worker) {
    let share = shared.shares[worker.index]
    for _ in 0..<worker.random.below(4) + 1 {
      shared.posted.add()
      let payload = StressPayload(senderLog: 0, index: 0, canary: Canary(.payload))
      if worker.random.oneIn(3) {
        worker.action(.submit) { if let ticket = share.event?.submit(payload) { share.tickets.append(ticket) } }
      } else {
        worker.action(.post) { share.event?.post(payload) }
      }
    }
    worker.change(.remove) { share.event = nil }
  }

  private func verify(_ lot: Pair, _ context: ScenarioContext) async {
    let checks = context.checks
    for ticket in lot.shared.shares.flatMap(\.tickets) {
      let report = await ticket.report
      let called = report.delivered + report.failures.count
      checks.expect(.g12, called == 4, "a ticket of a released event with four handlers: \(report)")
    }
    let posted = lot.shared.posted.value
    for (number, counter) in lot.shared.calls.enumerated() {
      let isWhole = await eventually { counter.value == posted }
      checks.expect(.g12, isWhole, "handler \(number) of a released event had \(counter.value) calls of \(posted)")
    }
    let isGone = await eventually { lot.event == nil }
    checks.expect(.g22, isGone, "an event is alive without a reference to it")
    context.must += 4 * posted
    context.may += 4 * posted
    context.did += lot.shared.calls.reduce(0) { $0 + $1.value }
  }

  /// Releases the last reference to an event within a handler of that event.
  private static func dropWithin(_ worker: Worker, _ context: ScenarioContext) {
    context.faults.count(.drop)
    worker.begin(.post)
    Trouble.dropEvent(context.checks)
    worker.activityLog.end()
  }
}
