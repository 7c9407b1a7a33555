import Eventing

/// Owners and events die, and others are made at the addresses where they were. No handler is taken for one of the newcomer's (G10), and no token of a dead event
/// does anything to the living one (G11). Each worker has an event of its own, where all is exact, and one that all share.
struct Reuse: Scenario {
  static let name = "reuse"
  static let summary = "owners and events at the addresses of dead ones: nobody is taken for another"

  /// Large enough to have a size class of its own, so that its memory is soon used again.
  final class Owner: Sendable {
    let number: Int
    let canary = Canary(.owner)

    init(_ number: Int) { self.number = number }
  }

  /// What one worker has for itself.
  // Safe: touched by that worker alone, and when nobody races; `heard` only by inline handlers that the worker's own posts call.
  final class Bench: @unchecked Sendable {
    var own = Event<Int>("own")
    var heard: [Int] = []
    var made = 0
    /// Calls that had to happen, and did.
    var exactCalls = 0
    var reusedOwners = 0
    var reusedEvents = 0
  }

  func round(_ context: ScenarioContext) async {
    let benches = context.workers.map { _ in Bench() }
    let shared = Event<Int>("shared")
    context.watch(shared)
    await context.race(steps: 60) { worker in
      let bench = benches[worker.index]
      replaceOwner(worker, bench, shared, context)
      if worker.random.oneIn(2) { replaceEvent(bench, context) }
    }
    await shared.quiesce()
    shared.post(0)
    await shared.quiesce()
    context.checks.expect(
      .g10, shared.handlerCount == 0, "\(shared.handlerCount) handlers are left whose owners are gone")
    context.remarks["owners at reused addresses", default: 0] += benches.reduce(0) { $0 + $1.reusedOwners }
    context.remarks["events at reused addresses", default: 0] += benches.reduce(0) { $0 + $1.reusedEvents }
    let calls = benches.reduce(0) { $0 + $1.exactCalls }
    context.must += calls
    context.may += calls
    context.did += calls
    context.countOverlaps()
  }

  // MARK: Owners

  /// One owner dies, and another is made where it was.
  private func replaceOwner(_ worker: Worker, _ bench: Bench, _ shared: Event<Int>, _ context: ScenarioContext) {
    let event = bench.own
    var first: Owner? = makeOwner(bench)
    let number = first?.number ?? 0
    let address = first.map { ObjectIdentifier($0) }
    if let first {
      listen(to: event, first, bench, context)
      listenShared(to: shared, first, worker, context)
    }
    first = nil
    context.faults.count(.drop)
    guard let second = makeOwner(bench, at: address) else {
      // Perhaps another thread's call on the shared event still holds the first, and then its handler here is called, too: no exact checks with that.
      bench.own = Event("own")
      return
    }
    bench.reusedOwners += 1
    let checks = context.checks
    // The rows of the dead one may still be there: they are not the newcomer's.
    checks.expect(
      .g10, event.remove(ownedBy: second) == 0 && event.lock(ownedBy: second) == 0,
      "an owner has a dead one's handlers (\(number))")
    listen(to: event, second, bench, context)
    listenShared(to: shared, second, worker, context)
    worker.action(.post) { shared.post(second.number) }
    checks.expect(
      .g10, event.lock(ownedBy: second) == 1 && event.unlock(ownedBy: second) == 1, "an owner's handler was not found")
    bench.heard = []
    event.post(second.number)
    checks.expect(
      .g10, bench.heard == [second.number], "posted to owner \(second.number) alone; heard by \(bench.heard)")
    checks.expect(.g10, event.remove(ownedBy: second) == 1, "an owner's handler was not found to be removed")
    bench.heard = []
    event.post(second.number)
    checks.expect(.g7, bench.heard.isEmpty, "heard after removal by \(bench.heard)")
    worker.change(.remove) { shared.remove(ownedBy: second) }
    bench.exactCalls += 1
  }

  private func makeOwner(_ bench: Bench) -> Owner {
    bench.made += 1
    return Owner(bench.made)
  }

  /// Makes owners until one is at that address; those that are elsewhere are kept until then.
  private func makeOwner(_ bench: Bench, at address: ObjectIdentifier?) -> Owner? {
    var others: [Owner] = []
    for _ in 0..<16 {
      let owner = makeOwner(bench)
      if ObjectIdentifier(owner) == address { return owner }
      others.append(owner)
    }
    return nil
  }

  private func listen(to event: Event<Int>, _ owner: Owner, _ bench: Bench, _ context: ScenarioContext) {
    let (number, checks, canary) = (owner.number, context.checks, Canary(.handler))
    event.addHandler(owner: owner) { owner, _ in
      checks.expect(
        .g10, owner.number == number && canary.isAlive, "the handler of owner \(number) was given owner \(owner.number)"
      )
      bench.heard.append(owner.number)
    }
  }

  private func listenShared(to event: Event<Int>, _ owner: Owner, _ worker: Worker, _ context: ScenarioContext) {
    let (number, checks, canary) = (owner.number, context.checks, Canary(.handler))
    worker.change(.add) {
      event.addHandler(owner: owner) { owner, _ in
        checks.expect(
          .g10, owner.number == number && canary.isAlive,
          "the handler of owner \(number) was given owner \(owner.number)")
      }
    }
  }

  // MARK: Events

  /// An event dies, and another is made where it was: the old token does nothing to it.
  private func replaceEvent(_ bench: Bench, _ context: ScenarioContext) {
    var first: Event<Int>? = Event()
    let address = first.map { ObjectIdentifier($0) }
    let token = first?.addHandler { _ in }
    first = nil
    context.faults.count(.drop)
    var others: [Event<Int>] = []
    for _ in 0..<16 {
      let event = Event<Int>()
      let called = Counter()
      let living = event.addHandler { _ in called.add() }
      guard ObjectIdentifier(event) == address, let token else {
        others.append(event)
        continue
      }
      bench.reusedEvents += 1
      let isHarmless =
        !event.remove(token) && !event.lock(token) && !event.unlock(token) && !event.isLocked(token)
        && !event.contains(token)
        && event.remove([token]) == 0 && event.lock([token]) == 0
      context.checks.expect(
        .g11, isHarmless && token != living, "a token of a dead event was good for one at the same address")
      event.post(1)
      context.checks.expect(
        .g11, called.value == 1 && event.contains(living), "a token of a dead event changed one at the same address")
      return
    }
  }
}
