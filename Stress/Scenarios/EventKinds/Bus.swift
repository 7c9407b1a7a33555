import Eventing

/// Lets all workers ask a bus for its events at the same time.
///
/// Each event is made once, and all workers get that event (G21). A request with another payload
/// type is refused (G24). If a new object is at the address of a released owner, it must not get
/// the events of that owner (G10). Later uses of the bus release events of released owners (G22).
struct Bus: Scenario {
  static let name = "bus"
  static let summary =
    "all workers ask a bus for the same events while owners die: each event is made once, and dies with its owner"

  /// An owner. Its size is unusual, so that the allocator soon reuses its memory for another owner.
  final class Owner: Sendable {
    private let canary = Canary(.owner)
    private let padding = (0, 0)
  }

  struct First: Sendable { let payload: StressPayload }
  struct Second: Sendable { let payload: StressPayload }

  static let word = EventKey<StressPayload>("word")
  static let other = EventKey<StressPayload>("other")
  /// A key with the name of ``word`` and another payload type.
  static let number = EventKey<Int>("word")

  /// A bus which all workers ask for the same events at the same time.
  final class Lot: Sendable {
    let bus = EventBus()
    let owner = Owner()
    let start: StartLine
    let finds: [Find]

    init(_ workers: Int) {
      start = StartLine(workers)
      finds = (0..<workers).map { _ in Find() }
    }
  }

  /// The events that one worker got.
  // Safe: each worker has a `Find` of its own. During a race, only this worker accesses the
  // variables. Between races, only the scenario does.
  final class Find: @unchecked Sendable {
    var events: [any Actor] = []
    /// The event of the contested name. The workers ask for it with two payload types, half of them
    /// with each. Nil if the request was refused.
    var contested: (any Actor)?
    var refusal: EventingError?
    let calls = Counter()
  }

  func round(_ context: ScenarioContext) async {
    let lots = (0..<24).map { _ in Lot(context.workers.count) }
    await context.race(steps: lots.count) { worker in
      let lot = lots[worker.actions.count]
      lot.start.wait()
      ask(worker, lot)
    } inTask: { worker in
      let lot = lots[worker.actions.count]
      await lot.start.waitInTask()
      ask(worker, lot)
    }
    for lot in lots { await verify(lot, context) }
    await BusTraffic(context).run()
    context.countOverlaps()
  }

  // MARK: All at once

  /// Asks for the events of a bus, and adds handlers. All workers begin together, so they race for
  /// the first use of each event.
  private func ask(_ worker: Worker, _ lot: Lot) {
    let find = lot.finds[worker.index]
    let canary = Canary(.handler)
    let count: @Sendable () -> Void = { if canary.isAlive { find.calls.add() } }
    worker.action(.look) {
      let first = lot.bus.event(for: First.self)
      let second = lot.bus.event(for: Second.self)
      guard let owned = try? lot.bus.event(Bus.other, of: lot.owner) else { return }
      find.events = [first, second, owned]
      do throws(EventingError) {
        if worker.index % 2 == 0 {
          find.contested = try lot.bus.event(Bus.word, of: lot.owner)
        } else {
          find.contested = try lot.bus.event(Bus.number, of: lot.owner)
        }
      } catch { find.refusal = error }
    }
    worker.change(.add) {
      lot.bus.event(for: First.self).addHandler { _ in count() }
      lot.bus.event(for: Second.self).addHandler(on: .background) { _ in count() }
      _ = try? lot.bus.event(Bus.other, of: lot.owner).addHandler { _ in count() }
    }
  }

  private func verify(_ lot: Lot, _ context: ScenarioContext) async {
    let (checks, workers) = (context.checks, lot.finds.count)
    for number in 0..<3 {
      let found = Set(lot.finds.compactMap { number < $0.events.count ? ObjectIdentifier($0.events[number]) : nil })
      checks.expect(.g21, found.count == 1, "event \(number) of a bus was made \(found.count) times")
      checks.expect(.g21, lot.finds.allSatisfy { $0.events.count == 3 }, "an event of a bus was not found")
    }
    // The workers have asked the bus for one event name at the same time, half of them with each of
    // two payload types. The first request decided the type of that event (`contested`). The bus
    // must have refused every request with the other type.
    let contested = Set(lot.finds.compactMap { $0.contested.map { ObjectIdentifier($0) } })
    let winners = Set(lot.finds.indices.filter { lot.finds[$0].contested != nil }.map { $0 % 2 })
    checks.expect(
      .g24, contested.count == 1 && winners.count == 1,
      "\(contested.count) events of one name, of \(winners.count) payloads")
    for (number, find) in lot.finds.enumerated() where !winners.contains(number % 2) {
      let isRefused = find.refusal == .payloadMismatch
      checks.expect(
        .g24, isRefused,
        "a request with another payload type ended with \(find.refusal.map { "\($0)" } ?? "no error")")
    }
    let payload = StressPayload(senderLog: 0, index: 0, canary: Canary(.payload))
    var reports = [await lot.bus.send(First(payload: payload)), await lot.bus.send(Second(payload: payload))]
    if let event = try? lot.bus.event(Bus.other, of: lot.owner) { reports.append(await event.send(payload)) }
    checks.expect(.g21, reports.count == 3, "an event of an owner was not found again")
    for report in reports {
      checks.expect(.g21, report.delivered == workers, "\(workers) workers added a handler each: \(report)")
    }
    let calls = lot.finds.reduce(0) { $0 + $1.calls.value }
    context.must += 3 * workers
    context.may += 3 * workers
    context.did += calls
    let names = lot.bus.events(of: lot.owner).map(\.name)
    checks.expect(.g21, Set(names) == ["word", "other"] && names.count == 2, "an owner of two events has \(names)")
    let event = lot.bus.event(for: First.self)
    lot.bus.finish()
    checks.expect(
      .g12, event.handlerCount == 0, "\(event.handlerCount) handlers are left on an event of a finished bus")
    checks.expect(.g12, lot.bus.event(for: First.self) !== event, "a finished bus returned an event from before")
    for find in lot.finds { (find.events, find.contested) = ([], nil) }
  }
}
