import Eventing

/// Calls all methods of all public types at random, on objects that other workers replace
/// meanwhile.
///
/// An object is deallocated when its last reference is released, often while another worker loads a
/// reference to it. If the optimizer of a release build moves a retain past an unlock, that worker
/// reads freed memory. To detect this, all parts of a payload carry one number, and each handler
/// checks that they do (G21).
///
/// The checks of order and of counts hold under any race. Calls come one at a time (G13), with
/// increasing sequence numbers (G1), and a once handler is called once (G8). Tokens of another
/// event are refused (G11). Everything must end (G20), and everything must be deallocated (G22).
struct Meddle: Scenario {
  static let name = "meddle"
  static let summary = "all verbs of all types at random, on objects that die meanwhile: payloads stay whole"

  func round(_ context: ScenarioContext) async {
    var random = context.random()
    let world = World(context.checks, theme: random.pick(World.themes))
    context.watch(world)
    await context.race(steps: 160) { worker in
      world.step(worker)
    } inTask: { worker in
      await world.stepInTask(worker)
    }
    context.director.begin(.quiesce)
    await world.end(context.director)
    context.did += world.calls.value
    context.may += world.calls.value
    context.remarks["objects replaced", default: 0] += world.replacements.value
    context.remarks["payloads received by loops", default: 0] += world.received.value
    context.remarks["findings of diagnostics", default: 0] += world.findings.value
    context.countOverlaps()
  }
}

extension Meddle.World {
  // MARK: Choosing

  /// The themes, of which each round has one. A theme is a list of numbers of cases in `stepHere`.
  /// Two times in three, `stepHere` chooses among these cases only. Some faults show only if two
  /// operations run within nanoseconds of each other. That seldom happens if every worker chooses
  /// among all operations.
  static let themes = [
    Array(0..<34), [0, 6, 31], [23, 24, 25], [23, 24, 30], [28, 0, 6, 28], [29, 30, 32], [33, 0, 6, 11], [20, 22, 31],
    [26, 0, 6, 31], [16, 18, 31], [27, 31, 8],
  ]

  /// Performs one step, with an operation that does not suspend.
  func step(_ worker: Worker) {
    if worker.random.oneIn(6) {
      Meddle.$badge.withValue(Meddle.Badge(worker.random.below(1_000))) { stepHere(worker) }
    } else {
      stepHere(worker)
    }
  }

  /// Performs one step, with any operation.
  func stepInTask(_ worker: Worker) async {
    guard worker.random.oneIn(3) else { return step(worker) }
    if worker.random.oneIn(6) {
      await Meddle.$badge.withValue(Meddle.Badge(worker.random.below(1_000))) { await awaitHere(worker) }
    } else {
      await awaitHere(worker)
    }
  }

  private func stepHere(_ worker: Worker) {
    switch worker.random.oneIn(3) ? worker.random.below(34) : worker.random.pick(theme) {
    case 0..<4: meddle(pairs, worker)
    case 4..<6: meddle(otherPairs, worker)
    case 6..<9: meddle(triples, worker)
    case 9..<11: meddle(history, worker)
    case 11: meddle(choices, worker)
    case 12: meddle(current, worker)
    case 13: meddle(crates, worker)
    case 14: meddle(texts, worker)
    case 15: meddleWithTuples(worker)
    case 16, 17: meddleWithKeys(worker)
    case 18, 19: meddleWithObjects(worker)
    case 20, 21: meddle(observedPair, worker)
    case 22: meddle(observedText, worker)
    case 23, 24: meddleWithBus(worker)
    case 25: meddleWithOwned(worker)
    case 26: meddleWithBag(worker)
    case 27: meddleWithResponders(worker)
    case 28: meddleWithContext(worker)
    case 29: meddleWithNewEvents(worker)
    case 30, 32: meddleWithPrivateEvent(worker)
    case 33: meddleWithTickets(worker)
    default: replace(worker)
    }
  }

  private func awaitHere(_ worker: Worker) async {
    switch worker.random.below(14) {
    case 0, 1: await wait(at: pairs, worker)
    case 2: await wait(at: otherPairs, worker)
    case 3, 4: await wait(at: triples, worker)
    case 5: await wait(at: history, worker)
    case 6: await wait(at: choices, worker)
    case 7: await wait(at: crates, worker)
    case 8: await wait(at: texts, worker)
    case 9: await waitAtKeys(worker)
    case 10: await waitAtObserved(worker)
    case 11: await waitAtBus(worker)
    case 12: await waitAtQuestion(worker)
    default: await waitForTickets(worker)
    }
  }

  /// Puts a new object into a slot. The old one is deallocated when the last reference to it is
  /// released.
  private func replace(_ worker: Worker) {
    replacements.add()
    worker.lost()
    let isEnded = worker.random.oneIn(3)
    worker.change(.remove) {
      switch worker.random.below(20) {
      case 0, 1: replace(pairs, isEnded)
      case 2: replace(otherPairs, isEnded)
      case 3, 4: replace(triples, isEnded)
      case 5: replace(history, isEnded)
      case 6: replace(choices, isEnded)
      case 7: replace(current, isEnded)
      case 8: replace(crates, isEnded)
      case 9: replace(texts, isEnded)
      case 10: replace(tuples, isEnded)
      case 11: if isEnded { keyed.replace().finish() } else { keyed.replace() }
      case 12: if isEnded { objects.replace().finish() } else { objects.replace() }
      case 13: observedPair.replace()
      case 14: observedText.replace()
      case 15: if isEnded { buses.replace().finish() } else { buses.replace() }
      case 16: questions.replace()
      case 17: accounts.replace()
      case 18: bags.replace()
      default: owners.replace()
      }
    }
  }

  private func replace<Payload>(_ slot: Meddle.Slot<Event<Payload>>, _ isEnded: Bool) {
    let event = slot.replace()
    if isEnded { event.finish() }
  }
}
