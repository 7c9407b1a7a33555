import Eventing

/// Events that are found: however many ask for one at the same time, it is made once, and all get it (G21); one of another payload is refused (G24); a
/// new object is never given what was a dead one's at its address (G10); and what the dead had is released as the bus is used (G22).
struct Bus: Scenario {
  static let name = "bus"
  static let summary =
    "all ask for the same events at once, and owners come and go: each event is made once, and goes with its owner"

  /// Large enough to have a size class of its own, so that its memory is soon used again.
  final class Owner: Sendable {
    private let canary = Canary(.owner)
    private let padding = (0, 0)
  }

  struct First: Sendable { let payload: StressPayload }
  struct Second: Sendable { let payload: StressPayload }

  static let word = EventKey<StressPayload>("word")
  static let other = EventKey<StressPayload>("other")
  /// The same name, and another payload.
  static let number = EventKey<Int>("word")

  /// A bus of which all workers ask the same at the same time.
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

  /// What one worker got.
  // Safe: touched by that worker, and when nobody races.
  final class Find: @unchecked Sendable {
    var events: [any EventProtocol] = []
    /// The event of the name that half of the workers take for one of numbers, or who was refused.
    var contested: (any EventProtocol)?
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
    for lot in lots { await verifier(lot, context) }
    await BusTraffic(context).run()
    context.countOverlaps()
  }

  // MARK: All at once

  ///, so that every first use is raced for.
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
      lot.bus.addHandler(for: First.self) { _ in count() }
      lot.bus.addHandler(for: Second.self, on: .background) { _ in count() }
      _ = try? lot.bus.event(Bus.other, of: lot.owner).addHandler { _ in count() }
    }
  }

  private func verifier(_ lot: Lot, _ context: ScenarioContext) async {
    let (checks, workers) = (context.checks, lot.finds.count)
    for number in 0..<3 {
      let found = Set(lot.finds.compactMap { number < $0.events.count ? ObjectIdentifier($0.events[number]) : nil })
      checks.expect(.g21, found.count == 1, "event \(number) of a bus was made \(found.count) times")
      checks.expect(.g21, lot.finds.allSatisfy { $0.events.count == 3 }, "an event of a bus was not found")
    }
    // Whoever was first decided what the contested one carries: the others are refused.
    let contested = Set(lot.finds.compactMap { $0.contested.map { ObjectIdentifier($0) } })
    let winners = Set(lot.finds.indices.filter { lot.finds[$0].contested != nil }.map { $0 % 2 })
    checks.expect(
      .g24, contested.count == 1 && winners.count == 1,
      "\(contested.count) events of one name, of \(winners.count) payloads")
    for (number, find) in lot.finds.enumerated() where !winners.contains(number % 2) {
      let isRefused = find.refusal?.code == .payloadMismatch
      checks.expect(
        .g24, isRefused,
        "an event was asked for that carries something else: \(find.refusal.map { "\($0)" } ?? "no error")")
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
    let names = lot.bus.names(of: lot.owner)
    checks.expect(.g21, Set(names) == ["word", "other"] && names.count == 2, "an owner of two events has \(names)")
    let event = lot.bus.event(for: First.self)
    lot.bus.finish()
    checks.expect(
      .g12, event.handlerCount == 0, "\(event.handlerCount) handlers are left on an event of a bus that was ended")
    checks.expect(.g12, lot.bus.event(for: First.self) !== event, "a bus that was ended finds an event that it had")
    for find in lot.finds { (find.events, find.contested) = ([], nil) }
  }
}
