import Eventing
import Synchronization

/// Posts faster than the handlers run. The number of queued occurrences must stay bounded (G15).
/// `quiesce` must return when all earlier occurrences are delivered. Isolated calls must not wait
/// for ever.
struct Flood: Scenario {
  static let name = "flood"
  static let summary = "posters outrun the handlers: the backlog is bounded, isolated calls get their turn"

  /// The largest number of queued occurrences that this scenario accepts, if a delivery takes no
  /// time. During a longer delivery more occurrences come in, and `verify` allows for these.
  static let most = 3_000
  /// The shortest time for which the library lets a thread sleep after a post to an overloaded
  /// event, on Linux, in nanoseconds. It limits how many occurrences come in during a delivery.
  static let pause = 50_000.0

  struct Drop: Sendable {
    let senderLog: Int
    let number: Int
  }

  /// The counts of posts and deliveries, and the longest gap between two deliveries.
  // Safe: one inline handler accesses the plain fields, and the event calls it one call at a time.
  // The scenario reads when no handler runs.
  final class Log: @unchecked Sendable {
    let posted = Counter()
    let delivered = Counter()
    let peak = Counter()
    let lastOf: [Counter]
    var before: UInt64 = 0
    var longestGap: UInt64 = 0

    init(_ senderLogs: Int) { lastOf = (0..<senderLogs).map { _ in Counter() } }
  }

  func round(_ context: ScenarioContext) async {
    let (event, log, checks) = (Event<Drop>("flooded"), Log(context.workers.count), context.checks)
    let (canary, fate) = (Canary(.handler), context.makeFate())
    context.watch(event)
    event.addHandler { drop in
      let now = Clock.now
      if log.before > 0 { log.longestGap = max(log.longestGap, now - log.before) }
      log.before = now
      let due = log.lastOf[drop.senderLog].value + 1
      if drop.number != due || !canary.isAlive {
        checks.violate(.g2, "expected number \(due) of a sender, received \(drop.number)")
      }
      log.lastOf[drop.senderLog].add()
      log.delivered.add()
      // This handler throws, but never stalls. Posters do not wait for it, so during a stall the
      // backlog would grow beyond the bound that is checked here.
      var luck = Random(seed: fate &+ UInt64(drop.senderLog << 32 + drop.number))
      try checks.faults.fail(&luck)
    }
    for _ in 0..<7 { event.addHandler { _ in RawThread.spin(150) } }

    let (isOver, start) = (Counter(), Clock.now)
    async let looking: Void = look(at: event, context, until: isOver)
    await context.race(steps: 4_000) { worker in
      post(worker, event, log)
    } inTask: { worker in
      post(worker, event, log)
      guard worker.actions.count % 1_000 == 0 else { return }
      worker.begin(.quiesce)
      await worker.awaiting { await event.quiesce() }
      worker.activityLog.end()
      let (sent, seen) = (worker.actions.count, log.lastOf[worker.index].value)
      checks.expect(.g7, seen == sent, "quiesce returned when \(seen) of \(sent) posts of its task had been delivered")
    }
    await event.quiesce()
    isOver.add()
    await looking
    verify(context, log, since: start)
  }

  private func post(_ worker: Worker, _ event: Event<Drop>, _ log: Log) {
    let number = worker.actions.count + 1
    log.posted.add()
    worker.action(.post) { event.post(Drop(senderLog: worker.index, number: number)) }
    log.peak.raise(to: log.posted.value - log.delivered.value)
  }

  /// Awaits an isolated call about once a millisecond.
  private func look(at event: Event<Drop>, _ context: ScenarioContext, until isOver: Counter) async {
    var calls = 0
    while isOver.value == 0 {
      var span = Span.open
      let count = await event.handlers().count
      span.finish()
      calls += 1
      context.lookLatency.add(span)
      context.checks.expect(
        .g15, count == 8 && span.end - span.start < 1_000_000_000,
        "an isolated call took \(Format.time(span.end - span.start))")
      try? await Task.sleep(for: .milliseconds(1))
    }
    context.looks += calls
  }

  /// Checks the bound on the number of queued occurrences.
  ///
  /// While more than 1,024 occurrences wait (`OverloadControl.limit`), each poster sleeps after
  /// each post. So each poster adds one occurrence for every sleep. Let `growth` be the number of
  /// occurrences that all posters together add while the event delivers one occurrence to its
  /// handlers. If `growth` is 1 or more, nothing bounds the queue.
  ///
  /// Let `growth` be less than 1, and let ``most`` occurrences (3,000) be queued. While the event
  /// delivers these, the posters add `most · growth` occurrences. While the event delivers those,
  /// the posters add `most · growth²`, and so on. The bound is the sum of this series,
  /// `most / (1 − growth)`. The bound is checked only if `growth` is less than 0.5, so it is at
  /// most twice ``most``.
  ///
  /// The system or the sanitizer may suspend the thread that delivers, while posters continue. So
  /// the bound also grows with the longest gap between two deliveries.
  private func verify(_ context: ScenarioContext, _ log: Log, since start: UInt64) {
    let perDelivery = Double(Clock.now - start) / Double(max(1, log.delivered.value))
    let growth = perDelivery * Double(context.workers.count) / Flood.pause
    if growth < 0.5 {
      let pauses = Int(Double(log.longestGap) / Flood.pause)
      let allowed = Int(Double(Flood.most) / (1 - growth)) + context.workers.count * (1 + pauses)
      context.checks.expect(
        .g15, log.peak.value <= allowed,
        "\(log.peak.value) were waiting; at most \(allowed) may (longest gap: \(Format.time(log.longestGap)))"
      )
    }
    context.checks.expect(
      .g21, log.delivered.value == log.posted.value, "\(log.posted.value) were posted, \(log.delivered.value) delivered"
    )
    context.checks.count(.g2, log.delivered.value)
    context.must += 8 * log.posted.value
    context.may += 8 * log.posted.value
    context.did += 8 * log.delivered.value
    context.remarks["waiting at most"] = max(context.remarks["waiting at most"] ?? 0, log.peak.value)
    context.countOverlaps()
  }
}
