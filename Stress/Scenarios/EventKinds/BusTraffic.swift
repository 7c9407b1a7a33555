import Eventing

/// A bus that all workers use. The workers post payloads that the bus delivers by type, and the
/// posts of each worker arrive in order. Meanwhile the workers make and release owners, with the
/// owners' events.
final class BusTraffic: Sendable {
  private let context: ScenarioContext
  private let bus = EventBus()
  private let log = Log()
  private let benches: [Bench]
  /// Owners that live throughout the round. Each use of the bus examines two owners. With these 64
  /// to examine, too, the bus finds a deallocated owner late.
  private let residents = (0..<64).map { _ in Bus.Owner() }

  /// The payloads that the inline handler of `Bus.First` received, by worker, and the number that
  /// the background handler received.
  // Safe: one inline handler accesses `heard`, and the event calls it one call at a time. The
  // scenario reads when no handler runs.
  final class Log: @unchecked Sendable {
    var heard: [[Int32]] = []
    let heardInBackground = Counter()
  }

  /// The objects of one worker.
  // Safe: each worker has a `Bench` of its own. During a race, only this worker accesses the
  // variables. Between races, only the scenario does.
  final class Bench: @unchecked Sendable {
    /// The events of owners that were released.
    var gone: [WeakLook] = []
    var kept: (owner: Bus.Owner, events: [WeakLook])?
    var reused = 0

    func keep(_ owner: Bus.Owner?, _ events: [Event<StressPayload>]) {
      gone += kept?.events ?? []
      kept = nil
      let looks = events.map { WeakLook(object: $0) }
      if let owner { kept = (owner, looks) } else { gone += looks }
    }
  }

  init(_ context: ScenarioContext) {
    self.context = context
    benches = context.workers.map { _ in Bench() }
    log.heard = context.workers.map { _ in [] }
    let (log, canary, checks, fate) = (log, Canary(.handler), context.checks, context.makeFate())
    bus.event(for: Bus.First.self).addHandler { first in
      if !canary.isAlive || !first.payload.canary.isAlive {
        checks.violate(.g22, "a handler uses a released object")
      }
      log.heard[Int(first.payload.senderLog)].append(first.payload.index)
      try checks.faults.meet(fate, Int(first.payload.senderLog) << 32 + Int(first.payload.index))
    }
    bus.event(for: Bus.First.self).addHandler(on: .background) { _ in log.heardInBackground.add() }
    for owner in residents { _ = try? bus.event(Bus.other, of: owner) }
    bus.event(for: Bus.Second.self).addHandler { _ in checks.violate(.g21, "the handler of another type was called") }
  }

  func run() async {
    await context.race(steps: 100) { [self] worker in
      if worker.random.oneIn(3) { replaceOwner(worker) } else { post(worker) }
    } inTask: { [self] worker in
      switch worker.random.below(12) {
      case 0..<4: replaceOwner(worker)
      case 4: await send(worker)
      case 5: await bus.quiesce()
      default: post(worker)
      }
    }
    await bus.quiesce()
    judgeTypes()
    await judgeOwners()
    bus.finish()
    for bench in benches { bench.kept = nil }
  }

  // MARK: By type

  private func post(_ worker: Worker) {
    worker.begin(.post)
    let payload = worker.senderLog.next()
    bus.post(Bus.First(payload: payload))
    worker.posting.add(worker.senderLog.returned(payload))
    worker.activityLog.end()
  }

  private func send(_ worker: Worker) async {
    worker.begin(.send)
    let payload = worker.senderLog.next()
    let report = await worker.awaiting { [bus] in await bus.send(Bus.First(payload: payload)) }
    worker.sending.add(worker.senderLog.returned(payload))
    context.checks.expect(.g21, report.delivered + report.failures.count == 2, "two handlers of a type: \(report)")
    worker.activityLog.end()
  }

  private func judgeTypes() {
    let checks = context.checks
    var sent = 0
    for worker in context.workers {
      let count = worker.senderLog.sent.count
      sent += count
      let heard = log.heard[worker.index]
      checks.expect(.g21, heard.count == count, "\(count) were posted by type, \(heard.count) arrived")
      checks.expect(.g2, heard == heard.sorted(), "posts by type arrived out of order")
    }
    checks.expect(
      .g21, log.heardInBackground.value == sent,
      "the background handler of a type received \(log.heardInBackground.value) of \(sent)")
    context.must += 2 * sent
    context.may += 2 * sent
    context.did += log.heard.reduce(0) { $0 + $1.count } + log.heardInBackground.value
  }

  // MARK: By owner

  /// Releases an owner, and makes another at its address.
  private func replaceOwner(_ worker: Worker) {
    let checks = context.checks
    var first: Bus.Owner? = Bus.Owner()
    let address = first.map { ObjectIdentifier($0) }
    var events: [Event<StressPayload>] = []
    worker.change(.add) { if let first { events = listen(to: first, worker) } }
    // In two of three cases the bus still has the owner's events when the owner is released.
    // Otherwise the events are removed first.
    if let first, worker.random.oneIn(3) { forget(first, events, worker) }
    benches[worker.index].gone += events.map { WeakLook(object: $0) }
    worker.change(.remove) { first = nil }
    context.faults.count(.drop)
    guard let second = makeOwner(at: address) else { return }
    benches[worker.index].reused += 1
    if worker.random.oneIn(2) {
      let isBare = bus.events(of: second).isEmpty && bus.events(of: second).map(\.name).isEmpty
      checks.expect(
        .g10, isBare && !bus.removeEvent(Bus.word, of: second) && bus.removeEvents(of: second) == 0,
        "an owner has a dead one's events")
    }
    let found = listen(to: second, worker)
    checks.expect(
      .g10, !found.contains { event in events.contains { $0 === event } }, "an owner got a dead one's event")
    let isFound = (try? bus.event(Bus.word, of: second)) === found.first && bus.events(of: second).count == 2
    checks.expect(.g21, isFound, "an owner got another event at the second request")
    benches[worker.index].keep(worker.random.oneIn(2) ? second : nil, found)
  }

  /// Makes up to 16 owners, until one is at the given address. Retains the owners made before, so
  /// that no two have the same address.
  private func makeOwner(at address: ObjectIdentifier?) -> Bus.Owner? {
    var others: [Bus.Owner] = []
    for _ in 0..<16 {
      let owner = Bus.Owner()
      if ObjectIdentifier(owner) == address { return owner }
      others.append(owner)
    }
    return nil
  }

  /// Makes two events of an owner, and posts to each. No other worker sends to these events. But
  /// while a thread is inside one of them for a `quiesce` of the whole bus, a post returns before
  /// its handler is called. So this method waits for the calls.
  private func listen(to owner: Bus.Owner, _ worker: Worker) -> [Event<StressPayload>] {
    let (checks, canary, heard) = (context.checks, Canary(.handler), Counter())
    var events: [Event<StressPayload>] = []
    for key in [Bus.word, Bus.other] {
      guard let event = try? bus.event(key, of: owner) else { continue }
      event.addHandler { _ in if canary.isAlive { heard.add() } }
      event.post(StressPayload(senderLog: 0, index: 0, canary: Canary(.payload)))
      checks.expect(.g10, event.handlerCount == 1, "the new event of an owner has \(event.handlerCount) handlers")
      events.append(event)
    }
    let deadline = Clock.now + 1_000_000_000
    while heard.value < 2, Clock.now < deadline { RawThread.giveWay() }
    checks.expect(.g21, heard.value == 2, "two events of an owner, one post to each: \(heard.value) calls")
    do throws(EventingError) {
      _ = try bus.event(Bus.number, of: owner)
      checks.violate(.g24, "a request with another payload type was not refused")
    } catch { checks.expect(.g24, error == .payloadMismatch, "\(error)") }
    return events
  }

  private func forget(_ owner: Bus.Owner, _ events: [Event<StressPayload>], _ worker: Worker) {
    let checks = context.checks
    if worker.random.oneIn(2) {
      checks.expect(
        .g7, bus.removeEvent(Bus.word, of: owner) && !bus.removeEvent(Bus.word, of: owner),
        "an event was not removed just once")
      let again = try? bus.event(Bus.word, of: owner)
      checks.expect(.g7, again !== events.first && again?.handlerCount == 0, "a removed event was found again")
      if let again { benches[worker.index].gone.append(WeakLook(object: again)) }
    } else {
      let removed = bus.removeEvents(of: owner)
      checks.expect(
        .g7, removed == 2 && bus.events(of: owner).isEmpty, "\(removed) events of an owner of two were removed")
    }
  }

  /// Checks that the bus finds the events of living owners, and has released the events of
  /// deallocated owners. Each use of the bus examines two owners, so the check first uses the bus
  /// often enough to examine all.
  private func judgeOwners() async {
    let all = benches.reduce(0) { $0 + $1.gone.count }
    for _ in 0..<all + residents.count { _ = bus.event(for: Bus.First.self) }
    let isClean = await eventually { !benches.contains { $0.gone.contains { $0.object != nil } } }
    let areThere = residents.allSatisfy { bus.events(of: $0).map(\.name) == ["other"] }
    context.checks.expect(.g10, areThere, "an owner is alive, and its event is not found")
    for (owner, events) in benches.compactMap(\.kept) {
      let isThere = bus.events(of: owner).count == events.count && events.allSatisfy { $0.object != nil }
      context.checks.expect(.g10, isThere, "an event was released though its owner is alive")
    }
    let left = benches.reduce(0) { $0 + $1.gone.count { $0.object != nil } }
    context.checks.expect(.g22, isClean, "a bus retains \(left) of \(all) events of released owners")
    context.remarks["owners at reused addresses", default: 0] += benches.reduce(0) { $0 + $1.reused }
  }
}
