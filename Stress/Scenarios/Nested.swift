import Eventing
import Synchronization

/// Posts from handlers to their own event, up to 100,000 deep, on threads with small stacks (G4).
/// Events also post to each other in a ring. Asynchronous handlers of two events await sends to
/// each other, which must not deadlock (G16, G20).
struct Nested: Scenario {
  static let name = "nested"
  static let summary =
    "handlers post to their own event 100,000 deep, and await each other in a ring: in order, and without a deadlock"

  /// A payload of a chain of posts: a handler that receives a link posts the next link of its
  /// chain, until `left` is 0.
  struct Link: Sendable {
    let chain: Int
    let left: Int
    let canary = Canary(.payload)
  }

  /// The numbers of calls of two inline handlers, and what each chain of posts must deliver next.
  /// In a chain, the handler that receives one ``Link`` posts the next one, whose ``Link/left``
  /// (the number of links after it) is less by one. `expected` has, for each chain, the value of
  /// `left` in the link that must come next.
  // Safe: only the inline handlers of one event access the log, and the event calls them one call
  // at a time. The scenario reads when no handler runs.
  final class Log: @unchecked Sendable {
    var first = 0
    var second = 0
    let seen = Counter()
    var expected: [Int: Int] = [:]
  }

  func round(_ context: ScenarioContext) async {
    let deepest = context.rounds.value % 8 == 1 ? 100_000 : 1_000
    await climb(context, deepest)
    await ring(context)
    await wait(context)
  }

  /// Starts chains of posts on one event, by all workers at once.
  private func climb(_ context: ScenarioContext, _ deepest: Int) async {
    let (event, log, checks) = (Event<Link>("climbing"), Log(), context.checks)
    let (canary, fate) = (Canary(.handler), context.makeFate())
    context.watch(event)
    event.addHandler { [weak event] link in
      checks.expect(
        .g4, log.first == log.second,
        "an occurrence began before \(log.first - log.second) earlier ones had reached every handler")
      log.first += 1
      if let due = log.expected[link.chain] {
        checks.expect(.g2, link.left == due, "expected link \(due) of a chain, received \(link.left)")
      }
      log.expected[link.chain] = link.left - 1
      if link.left > 0, canary.isAlive { event?.post(Link(chain: link.chain, left: link.left - 1)) }
      try checks.faults.meet(fate, link.chain << 32 + link.left)
    }
    event.addHandler { link in
      log.second += 1
      log.seen.add()
      checks.expect(
        .g4, log.first == log.second,
        "the second handler saw its occurrence number \(log.second) when the first had seen \(log.first)")
    }
    let total = Counter()
    let starts = 8
    await context.race(steps: starts) { worker in
      let depth =
        worker.senderLog.sent.isEmpty && worker.actions.isEmpty
        ? deepest / (worker.index + 1) : worker.random.below(200)
      let chain = worker.index * starts + worker.actions.count
      total.add(depth + 1)
      worker.action(.post) { event.post(Link(chain: chain, left: depth)) }
    }
    await event.quiesce()
    // A chain may go on after `quiesce`: a handler that receives a link posts the next link behind
    // the barrier, and the event's own queue delivers it.
    let isWhole = await eventually(within: 30) {
      context.director.begin(.verify)
      return total.value == log.seen.value
    }
    await event.quiesce()
    context.faults.count(.reenter, log.first - starts * context.workers.count)
    checks.expect(.g21, isWhole && log.first == total.value, "\(total.value) links were posted, \(log.first) delivered")
    checks.expect(.g21, log.expected.values.allSatisfy { $0 == -1 }, "a chain broke off")
    context.must += 2 * total.value
    context.may += 2 * total.value
    context.did += log.first + log.second
    context.countOverlaps()
  }

  /// Starts chains of posts in a ring of three events.
  private func ring(_ context: ScenarioContext) async {
    let events = (0..<3).map { Event<Link>("ring \($0)") }
    let calls = Counter()
    for (number, event) in events.enumerated() {
      context.watch(event)
      let canary = Canary(.handler)
      event.addHandler { [weak next = events[(number + 1) % 3]] link in
        calls.add()
        if link.left > 0, canary.isAlive { next?.post(Link(chain: link.chain, left: link.left - 1)) }
      }
    }
    let total = Counter()
    await context.race(steps: 4) { worker in
      let depth = worker.random.below(300)
      total.add(depth + 1)
      worker.action(.post) { events[worker.index % 3].post(Link(chain: worker.index, left: depth)) }
    }
    let isWhole = await eventually(within: 30) { calls.value == total.value }
    context.checks.expect(.g21, isWhole, "\(total.value) links went round the ring, \(calls.value) arrived")
    for event in events { await event.quiesce() }
    context.must += total.value
    context.may += total.value
    context.did += calls.value
  }

  /// Starts chains of sends between two events, whose handlers await sends to each other.
  private func wait(_ context: ScenarioContext) async {
    let (one, two, checks) = (Event<Link>("one"), Event<Link>("two"), context.checks)
    let (calls, deferred) = (Counter(), Counter())
    for (event, other) in [(one, two), (two, one)] {
      context.watch(event)
      let canary = Canary(.handler)
      event.addHandler { [weak other] link in
        calls.add()
        guard link.left > 0, canary.isAlive,
          let report = await other?.send(Link(chain: link.chain, left: link.left - 1))
        else { return }
        deferred.add(report.deferred)
        checks.expect(
          .g21, report.delivered + report.deferred == 1, "a send within a handler found one handler: \(report)")
      }
    }
    let total = Counter()
    await context.race(steps: 10) { worker in
      total.add(4)
      worker.action(.post) { (worker.index % 2 == 0 ? one : two).post(Link(chain: worker.index, left: 3)) }
    } inTask: { worker in
      total.add(4)
      worker.begin(.send)
      let event = worker.index % 2 == 0 ? one : two
      let report = await worker.awaiting { await event.send(Link(chain: worker.index, left: 3)) }
      checks.expect(.g16, report.delivered == 1, "a send from outside awaits its handler: \(report)")
      worker.activityLog.end()
    }
    let isWhole = await eventually(within: 30) { calls.value == total.value }
    checks.expect(.g20, isWhole, "handlers that await each other: \(calls.value) calls of \(total.value)")
    await one.quiesce()
    await two.quiesce()
    context.must += total.value
    context.may += total.value
    context.did += calls.value
    context.remarks["sends deferred, not deadlocked", default: 0] += deferred.value
  }
}
