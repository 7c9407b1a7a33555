import Eventing
import Synchronization

/// Uses a thousand events at a time, whose handlers post to the next event.
///
/// Each event keeps its own order (G1, G2), and no occurrence is lost (G21). Thousands of handlers
/// are removed, oldest first and newest first, and no memory stays behind (G22). One in four posts
/// goes to one common event, so that the workers contend for it.
struct ManyEvents: Scenario {
  static let name = "many"
  static let summary =
    "a thousand events at once, chained, with thousands of temporary handlers: each in order, nothing lost"

  struct Message: Sendable {
    let senderLog: Int
    let number: Int
    let isFirst: Bool
    let canary: Canary
  }

  /// One event and the records of its handlers.
  // Safe: one inline handler accesses `last` and `sequence`, and the event calls it one call at a
  // time. The scenario reads when no handler runs.
  final class Site: @unchecked Sendable {
    let event = Event<Message>("site")
    /// The number of payloads that each worker sent to the event.
    let sent: [Counter]
    var last: [Int]
    var sequence: UInt64 = 0
    let received = Counter()
    let forwarded = Counter()

    init(_ workers: Int) {
      sent = (0..<workers).map { _ in Counter() }
      last = Array(repeating: 0, count: workers)
    }
  }

  func round(_ context: ScenarioContext) async {
    let sites = (0..<context.options.events).map { _ in Site(context.workers.count) }
    for site in sites { context.watch(site.event) }
    for (number, site) in sites.enumerated() { connect(site, next: sites[(number + 1) % sites.count], context) }
    await context.race(steps: 1_500) { worker in
      let isHot = worker.random.oneIn(4)
      let site = isHot ? sites[0] : worker.random.pick(sites)
      if worker.random.oneIn(10) { addAndRemove(worker, site, isHot) } else { post(worker, site, isHot) }
    }
    for site in sites { await site.event.quiesce() }
    // The second pass also waits for the posts that handlers made meanwhile.
    for site in sites { await site.event.quiesce() }
    await addThousands(context, sites[0])
    await verify(sites, context)
    context.countOverlaps()
  }

  private func connect(_ site: Site, next: Site, _ context: ScenarioContext) {
    let (canary, checks, fate) = (Canary(.handler), context.checks, context.makeFate())
    site.event.occurrences.addHandler { [unowned site] occurrence in
      let message = occurrence.payload
      site.sequence += 1
      if occurrence.sequence != site.sequence || !canary.isAlive {
        checks.violate(.g1, "expected sequence \(site.sequence), received \(occurrence.sequence)")
      }
      guard message.isFirst else { return }
      site.last[message.senderLog] += 1
      if message.number != site.last[message.senderLog] {
        checks.violate(.g2, "expected number \(site.last[message.senderLog]) of a sender, received \(message.number)")
      }
      site.received.add()
      try checks.faults.meet(fate, message.senderLog << 32 + message.number)
    }
    site.event.addHandler { [weak next = next.event, forwarded = next.forwarded] message in
      guard message.isFirst else { return }
      forwarded.add()
      next?.post(Message(senderLog: message.senderLog, number: 0, isFirst: false, canary: message.canary))
    }
  }

  private func post(_ worker: Worker, _ site: Site, _ isHot: Bool) {
    let number = site.sent[worker.index].add()
    let message = Message(senderLog: worker.index, number: number, isFirst: true, canary: Canary(.payload))
    worker.action(.post) { site.event.post(message) }
    if !isHot { worker.actions.removeLast() }  // only operations on the common event count as overlaps
  }

  private func addAndRemove(_ worker: Worker, _ site: Site, _ isHot: Bool) {
    let canary = Canary(.handler)
    let token = worker.change(.add) { site.event.addHandler { _ in _ = canary.isAlive } }.result
    let wasThere = worker.change(.remove) { site.event.remove(token) }.result
    if !isHot { worker.changes.removeLast(2) }
    if !wasThere { worker.senderLog.missing += 1 }
  }

  private func verify(_ sites: [Site], _ context: ScenarioContext) async {
    let checks = context.checks
    for worker in context.workers {
      checks.expect(
        .g7, worker.senderLog.missing == 0,
        "\(worker.senderLog.missing) handlers were not found right after they were added")
    }
    for site in sites {
      let sent = site.sent.reduce(0) { $0 + $1.value }
      checks.expect(
        .g21, site.received.value == sent, "\(sent) were sent through an event, \(site.received.value) arrived")
      let all = sent + site.forwarded.value
      checks.expect(
        .g21, site.sequence == UInt64(all), "\(all) were sent and forwarded through an event, \(site.sequence) arrived")
      checks.expect(.g22, site.event.handlerCount == 2, "\(site.event.handlerCount) handlers are left of 2")
      checks.count(.g1, Int(site.sequence))
      checks.count(.g2, sent)
      context.must += all
      context.may += all
      context.did += Int(site.sequence)
    }
  }

  /// Adds thousands of handlers. Removes one half in the order of their addition, the other half in
  /// reverse.
  private func addThousands(_ context: ScenarioContext, _ site: Site) async {
    let worker = context.workers[0]
    let tokens = (0..<4_000).map { _ in
      let canary = Canary(.handler)
      return site.event.addHandler { _ in _ = canary.isAlive }
    }
    worker.activityLog.begin(.remove)
    var found = 0
    for token in tokens[..<2_000] where site.event.remove(token) { found += 1 }
    for token in tokens[2_000...].reversed() where site.event.remove(token) { found += 1 }
    worker.activityLog.end()
    context.checks.expect(.g7, found == tokens.count, "\(found) of \(tokens.count) handlers were found")
    context.checks.expect(.g22, site.event.handlerCount == 2, "\(site.event.handlerCount) handlers are left of 2")
    let areGone = await eventually { Canary.alive(.handler) == context.options.events }
    context.checks.expect(
      .g22, areGone, "closures of removed handlers are alive: \(Canary.alive(.handler) - context.options.events)")
  }
}
