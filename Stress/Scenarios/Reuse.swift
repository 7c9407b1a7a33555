import Eventing

/// Releases owners and events, and makes new ones at their addresses.
///
/// A new owner must not get the handlers of the released owner at its address (G10). A token of a
/// released event must not affect the new event there (G11). Each worker has an event of its own,
/// for exact checks. All workers share another event.
struct Reuse: Scenario {
  static let name = "reuse"
  static let summary = "owners and events at the addresses of dead ones: none is mistaken for another"

  /// An owner. Its size is unusual, so that the allocator soon reuses its memory for another owner.
  final class Owner: Sendable {
    let number: Int
    let canary = Canary(.owner)

    init(_ number: Int) { self.number = number }
  }

  /// The objects and counts of one worker.
  // Safe: each worker has a `Bench` of its own. During a race, only this worker accesses its
  // variables. Between races, only the scenario does. Handlers access `heard`, too, but only inline
  // handlers of `own`. Only posts of this worker call these handlers.
  final class Bench: @unchecked Sendable {
    var own = Event<Int>("own")
    var heard: [Int] = []
    var made = 0
    /// The number of calls that `round` adds to the totals: one for each owner that was made at the
    /// address of a released owner. `replaceOwner` checks that one post calls the owner's handler
    /// of `own` exactly once.
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
      .g10, shared.handlerCount == 0, "\(shared.handlerCount) handlers of released owners are left")
    context.remarks["owners at reused addresses", default: 0] += benches.reduce(0) { $0 + $1.reusedOwners }
    context.remarks["events at reused addresses", default: 0] += benches.reduce(0) { $0 + $1.reusedEvents }
    let calls = benches.reduce(0) { $0 + $1.exactCalls }
    context.must += calls
    context.may += calls
    context.did += calls
    context.countOverlaps()
  }

  // MARK: Owners

  /// Releases an owner, and makes another at its address.
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
      // No owner was made at the address of the first owner. Perhaps the first owner is not
      // deallocated yet: if another thread is calling the owner's handler of `shared`, the call
      // retains the owner. As long as the first owner lives, each post to `event` also calls the
      // owner's handler of `event`. The checks below expect that a post calls one handler only. So
      // the worker skips the checks, and takes a new event.
      bench.own = Event("own")
      return
    }
    bench.reusedOwners += 1
    let checks = context.checks
    // The handler slots of the released owner may remain. The new owner must not be taken for the
    // owner of their handlers.
    checks.expect(
      .g10, event.removeAll(where: .ownedBy(second)) == 0 && event.lockAll(where: .ownedBy(second)) == 0,
      "an owner has a dead one's handlers (\(number))")
    listen(to: event, second, bench, context)
    listenShared(to: shared, second, worker, context)
    worker.action(.post) { shared.post(second.number) }
    checks.expect(
      .g10, event.lockAll(where: .ownedBy(second)) == 1 && event.unlockAll(where: .ownedBy(second)) == 1,
      "an owner's handler was not found")
    bench.heard = []
    event.post(second.number)
    checks.expect(
      .g10, bench.heard == [second.number], "posted to owner \(second.number) alone; received by \(bench.heard)")
    checks.expect(.g10, event.removeAll(where: .ownedBy(second)) == 1, "an owner's handler was not found to be removed")
    bench.heard = []
    event.post(second.number)
    checks.expect(.g7, bench.heard.isEmpty, "received after removal by \(bench.heard)")
    worker.change(.remove) { shared.removeAll(where: .ownedBy(second)) }
    bench.exactCalls += 1
  }

  private func makeOwner(_ bench: Bench) -> Owner {
    bench.made += 1
    return Owner(bench.made)
  }

  /// Makes up to 16 owners, until one is at the given address. Retains the owners made before, so
  /// that no two have the same address.
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

  /// Releases an event, and makes another at its address. The token of a handler of the released
  /// event must not affect the new event.
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
        && event.removeAll(where: .oneOf([token])) == 0 && event.lockAll(where: .oneOf([token])) == 0
      context.checks.expect(
        .g11, isHarmless && token != living, "a token of a dead event was valid for another at its address")
      event.post(1)
      context.checks.expect(
        .g11, called.value == 1 && event.contains(living), "a token of a dead event changed another at its address")
      return
    }
  }
}
