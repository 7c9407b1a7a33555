import Eventing

/// Lets all workers set and update a value, while handlers of its changes are added and removed.
///
/// Each change starts from the value that the previous one ended with (G1, G13). A handler that
/// asks for the initial value misses no change after that value (G6). The last change is to the
/// final value (G1), and no update is lost (G21). With `.prior`, a handler is called before and
/// after each change. If one thread alone sets the value, no other call of the handler comes
/// between these two.
struct Observing: Scenario {
  static let name = "observed"
  static let summary =
    "all workers set and update a value, while handlers of its changes come and go: no change or update is lost"

  func round(_ context: ScenarioContext) async {
    let start = Tone(name: Tone.Name(senderLog: -1, index: 0), basis: nil, canary: Canary(.payload))
    let (value, count) = (Observed(start), Observed(0))
    let witness = Listener(.inline, [], context.checks)
    witness.add(to: value)
    let told = Told()
    count.changes().addHandler { told.add($0, context.checks) }
    count.changes(initial: true).addHandler(on: .background) { told.last = $0.new }
    let desks = context.workers.map { _ in Desk(context.checks, hasFewPriors: context.rounds.value % 2 == 0) }
    let most = max(1, context.options.handlers / context.workers.count)
    await context.race(steps: 200) { worker in
      step(worker, value, count, desks[worker.index], most)
    } inTask: { worker in
      step(worker, value, count, desks[worker.index], most)
      if worker.random.oneIn(24) { await worker.awaiting { await value.quiesce() } }
    }
    context.director.begin(.quiesce)
    await value.quiesce()
    await count.quiesce()
    let increments = desks.reduce(0) { $0 + $1.increments }
    let isWhole = count.value == increments && told.number == increments && told.last == increments
    context.checks.expect(
      .g21, isWhole,
      "\(increments) updates; the value is \(count.value); \(told.number) changes received, the last to \(told.last)")
    for worker in context.workers {
      context.checks.expect(
        .g7, worker.senderLog.missing == 0,
        "\(worker.senderLog.missing) handlers of changes were not found to be removed")
    }
    await judgeQuiet(context.checks)
    context.director.begin(.verify)
    var verifier = ChangeVerifier(
      context, witness: witness, desks.flatMap(\.listeners), start: start.name, settled: Clock.now)
    verifier.run(value.value.name)
    context.countOverlaps()
  }

  /// The listeners and counts of one worker.
  // Safe: each worker has a `Desk` of its own. During a race, only this worker accesses the
  // variables. Between races, only the scenario does.
  final class Desk: @unchecked Sendable {
    let checks: Checks
    let hasFewPriors: Bool
    var listeners: [Listener] = []
    var increments = 0

    init(_ checks: Checks, hasFewPriors: Bool) {
      self.checks = checks
      self.hasFewPriors = hasFewPriors
    }
  }

  /// Notes of what two handlers have received from the observed number `count`. The first handler
  /// counts the changes in `number`, and the second one writes the latest value to `last`.
  // Safe: `number` belongs to one handler and `last` to the other. Calls of one handler do not
  // overlap. The scenario reads both fields when no handler runs.
  final class Told: @unchecked Sendable {
    var number = 0
    var last = -1

    func add(_ change: ValueChange<Int>, _ checks: Checks) {
      checks.expect(.g1, change.old == number && change.new == number + 1, "update \(number + 1) came as \(change)")
      number += 1
    }
  }

  private func step(_ worker: Worker, _ value: Observed<Tone>, _ count: Observed<Int>, _ desk: Desk, _ most: Int) {
    let own = desk.listeners.filter { $0.removing == nil }
    switch worker.random.below(12) {
    case 0..<3:
      if own.count < most { add(to: value, desk, worker) } else { remove(worker.random.pick(own), value, worker) }
    case 3: if !own.isEmpty { remove(worker.random.pick(own), value, worker) }
    case 4, 5:
      desk.increments += 1
      worker.action(.post) { count.update { $0 += 1 } }
    case 6..<9: Observing.update(value, worker)
    default: Observing.set(value, worker)
    }
  }

  private func add(to value: Observed<Tone>, _ desk: Desk, _ worker: Worker) {
    var options = Wishes(rawValue: UInt8(worker.random.below(4)))
    // The option `.prior` lets the event call a handler before each change, too. In rounds with
    // `hasFewPriors`, few handlers have this option. So sometimes only the new handler has it,
    // which is rare in other rounds.
    if desk.hasFewPriors, !worker.random.oneIn(8) { options.remove(.prior) }
    let listener = Listener(worker.random.pick(Listener.places), options, desk.checks)
    listener.fate = worker.makeFate()
    worker.change(.add) { listener.add(to: value) }
    desk.listeners.append(listener)
  }

  private func remove(_ listener: Listener, _ value: Observed<Tone>, _ worker: Worker) {
    guard let token = listener.token else { return }
    let (wasThere, span) = worker.change(.remove) { value.remove(token) }
    listener.removing = span
    if !wasThere { worker.senderLog.missing += 1 }
  }

  private static func set(_ value: Observed<Tone>, _ worker: Worker) {
    worker.begin(.post)
    let payload = worker.senderLog.next()
    value.value = Tone(
      name: Tone.Name(senderLog: payload.senderLog, index: payload.index), basis: nil, canary: payload.canary)
    worker.posting.add(worker.senderLog.returned(payload))
    worker.activityLog.end()
  }

  private static func update(_ value: Observed<Tone>, _ worker: Worker) {
    worker.begin(.post)
    let payload = worker.senderLog.next()
    value.update { tone in
      tone = Tone(
        name: Tone.Name(senderLog: payload.senderLog, index: payload.index), basis: tone.name, canary: payload.canary)
    }
    worker.posting.add(worker.senderLog.returned(payload))
    worker.activityLog.end()
  }

  // MARK: A single sender

  /// Checks a value that only one thread sets. Each handler receives the call before a change and
  /// then the call after it, with no call between. An inline handler gets the call before a change
  /// while the value is still the old one.
  private func judgeQuiet(_ checks: Checks) async {
    let names = (0..<20).map { Tone.Name(senderLog: -2, index: $0) }
    let tones = names.map { Tone(name: $0, basis: nil, canary: Canary(.payload)) }
    let value = Observed(tones[0])
    let listeners = Listener.places.dropFirst().map { Listener($0, .prior, checks) }
    for listener in listeners {
      if listener.place.isInline {
        listener.reaction = { change in
          let now = value.value.name
          let due = change.isPrior ? change.old?.name : change.new.name
          checks.expect(
            .g1, now == due, "the value is \(now) \(change.isPrior ? "before" : "after") the change from \(change)")
        }
      }
      listener.add(to: value)
    }
    for tone in tones.dropFirst() {
      if tone.name.index.isMultiple(of: 2) { value.value = tone } else { value.update { $0 = tone } }
    }
    await value.quiesce()
    let due = (1..<names.count).flatMap { number in [true, false].map { (names[number - 1], names[number], $0) } }
    for listener in listeners {
      let isWhole =
        listener.calls.count == due.count
        && zip(listener.calls, due).allSatisfy { $0.old == $1.0 && $0.new == $1.1 && $0.isPrior == $1.2 }
      checks.expect(
        .g1, isWhole,
        "\(listener), for \(names.count - 1) changes, before and after each: \(listener.calls.count) calls")
      if let token = listener.token { value.remove(token) }
      listener.reaction = nil
    }
  }
}
