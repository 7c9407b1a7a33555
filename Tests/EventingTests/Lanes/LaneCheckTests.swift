#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif
import Eventing
import EventingTesting
import Synchronization
import Testing

/// Tests of random handlers on random lanes, with real threads (G1, G2, G6 to G10, G13 to G16, G21,
/// G22, H1 to H8).
///
/// A seed decides which handlers there are, what is sent, and what happens to the handlers
/// meanwhile. The threads decide the interleaving, so a seed that failed may have to be repeated.
@Suite(.serialized, .fewAtATime) struct LaneCheckTests {
  @Test func randomHandlersKeepTheGuarantees() async {
    let first = SeededGenerator.fresh("lane check").seed
    var failures = 0
    for seed in first..<first &+ LaneCheckTests.rounds where failures < 3 {
      let (live, faults) = (LiveCount(), Recorder<String>())
      let isOver = await comesBack {
        await LaneCheckRound(seed: seed, live, faults).run()
        return true
      }
      if isOver == true, await !eventually({ live.alive == 0 }) {
        faults.record("\(live.alive) payloads, closures or owners are left")
      }
      if isOver == nil { faults.record("the round hangs") }
      guard faults.count > 0 else { continue }
      failures += 1
      Issue.record("EVENTING_SEED=\(seed): \(faults.values.prefix(10).joined(separator: "\n"))")
      if isOver == nil { break }
    }
  }

  /// The number of rounds: the value of `EVENTING_SEEDS`, or 100.
  static var rounds: UInt64 { unsafe getenv("EVENTING_SEEDS").flatMap { unsafe UInt64(String(cString: $0)) } ?? 100 }
}

/// Some events, their handlers, and what threads and tasks do with them.
// Safe: only the task of `run` changes the fields, while no other task of the round runs. Owners
// are an exception: only the task that changes the handlers uses them meanwhile.
private final class LaneCheckRound: @unchecked Sendable {
  private enum Ending { case quiet, busy, released }
  private struct Failed: Error {}

  private let seed: UInt64
  private let live: LiveCount
  private let faults: Recorder<String>
  private var random: SeededGenerator
  private var events: [Event<CheckedPayload>]
  /// The payloads of each event in its order, as an inline handler saw them.
  private let orders: [Recorder<Int>]
  private let posted: [Counter]
  private let lanes = [LaneCheckLane(limit: 1), LaneCheckLane(limit: LaneCheckPlan.wide)]
  private var handlers: [LaneCheckHandler] = []
  private var tokens: [HandlerToken] = []
  private var owners: [(any AnyObject & Sendable)?] = []
  private let nests: Bool
  private let cancels: Bool
  /// Whether the events are locked as a whole, too.
  private let locksEvents: Bool
  private let ending: Ending

  init(seed: UInt64, _ live: LiveCount, _ faults: Recorder<String>) {
    (self.seed, self.live, self.faults) = (seed, live, faults)
    random = SeededGenerator(seed: seed)
    let count = 1 + random.below(3)
    events = (0..<count).map { Event("\($0)") }
    orders = (0..<count).map { _ in Recorder() }
    posted = (0..<count).map { _ in Counter() }
    nests = random.chance(30)
    cancels = random.chance(15)
    locksEvents = random.chance(20)
    ending = [.quiet, .quiet, .busy, .released][random.below(4)]
    for (event, order) in zip(events, orders) {
      event.addHandler(.priority(.max)) { order.record($0.id) }
      // A lock of the event that begins during a delivery may hold the payload for some handlers.
      event.addHandler(.priority(.min)) { [locksEvents] payload in
        if !locksEvents, order.values.last != payload.id { faults.record("\(payload.id) came beside another payload") }
      }
    }
    // The task of a call is cancelled, too, by its time limit or a newer occurrence.
    for number in 0..<1 + random.below(7) {
      add(LaneCheckPlan(number, of: count, cancels: cancels || nests, &random))
    }
  }

  private func add(_ plan: LaneCheckPlan) {
    let lane = plan.place == .shared ? lanes[0] : plan.place == .sharedWide ? lanes[1] : nil
    let handler = LaneCheckHandler(plan, on: lane, locksEvents: locksEvents, faults)
    let canary = Canary(handler.closures)
    let (stage, owner) = (Stage(), Owner(live))
    // The closures must not retain the events, because some rounds end with them.
    let made = plan.handler(on: (lane ?? lanes[0]).lane, isolatedTo: stage) { [weak self] batch in
      canary.sing()
      try self?.call(batch.map(\.id), handler)
    } async: { [weak self] batch in
      canary.sing()
      try await self?.call(batch.map(\.id), handler)
    }
    handlers.append(handler)
    owners.append(plan.place == .actor ? stage : owner)
    tokens.append(events[plan.event].add(plan.losesOwner ? made.owned(by: owner) : made))
  }

  // MARK: Calls

  private func call(_ ids: [Int], _ handler: LaneCheckHandler) throws {
    let attempt = handler.begin(ids)
    let isFailed = handler.plan.failures(of: ids[0]) >= attempt
    let roll = SeededGenerator.number(of: ids[0], for: attempt) % 100
    if roll < 5 { nap(microseconds: 30) }
    if nests, roll > 94, let id = nested(ids[0], attempt, handler) { post(id, to: roll % events.count) }
    handler.end(ids, attempt, isFailed: isFailed)
    if isFailed { throw Failed() }
  }

  private func call(_ ids: [Int], _ handler: LaneCheckHandler) async throws {
    let attempt = handler.begin(ids)
    let isFailed = handler.plan.failures(of: ids[0]) >= attempt
    let roll = SeededGenerator.number(of: ids[0], for: 50 + attempt) % 100
    if roll < 20 { await Task.yield() } else if roll < 25 { try? await Task.sleep(for: .microseconds(100)) }
    // The time limit, or a newer occurrence, ends this sleep.
    if roll > 94, handler.plan.timeLimit != nil { try? await Task.sleep(for: .seconds(3)) }
    if nests, roll > 70, roll < 75, let id = nested(ids[0], attempt, handler) {
      await send(id, to: roll % events.count)
    }
    handler.end(ids, attempt, isFailed: isFailed)
    if isFailed { throw Failed() }
  }

  /// Returns the number of a payload that a call sends; `nil` if a call sent its own payload.
  private func nested(_ id: Int, _ attempt: Int, _ handler: LaneCheckHandler) -> Int? {
    id >> 40 == 0 ? 1 << 40 | handler.plan.number << 36 | attempt << 32 | id : nil
  }

  // MARK: Senders

  private func post(_ id: Int, to event: Int) {
    posted[event].add()
    events[event].post(CheckedPayload(id: id, canary: Canary(live)))
  }

  private func send(_ id: Int, to event: Int) async {
    posted[event].add()
    let report = await events[event].send(CheckedPayload(id: id, canary: Canary(live)))
    let found = handlers.filter { $0.plan.event == event }
    let uncalled = report.skipped + report.dropped + report.deferred + report.held
    let total = report.delivered + uncalled + report.failures.count
    // A payload that is sent inside a call may come after the end of the event.
    let isLate = nests && ending == .busy
    if !isLate, total > found.count + 2 || total < found.count(where: \.plan.stays) + 2 {
      faults.record("\(found.count + 2) handlers, but \(id) has the report \(report)")
    }
    let hasNoLock = found.allSatisfy { $0.plan.locks == .none } && !locksEvents
    if report.deferred > 0 && !nests || report.held > 0 && hasNoLock { faults.record("\(id) has the report \(report)") }
    guard !isLate, report.deferred + report.held == 0 else { return }
    for handler in found where isAwaited(handler) && !handler.hasReturned(id) {
      handler.fail("a send of \(id) has not waited: \(report)")
    }
    guard found.allSatisfy({ isAwaited($0) && $0.plan.batch == nil && $0.plan.timeLimit == nil }) else { return }
    let failed = found.filter { $0.plan.failures(of: id) >= $0.plan.attempts }.map(\.plan.attempts)
    if report.failures.map(\.attempts).sorted() != failed.sorted() {
      faults.record("\(failed.count) handlers fail, but \(id) has the report \(report)")
    }
  }

  /// Returns whether a send waits for the calls of a handler.
  private func isAwaited(_ handler: LaneCheckHandler) -> Bool {
    handler.plan.getsAll && handler.plan.locks == .none && !locksEvents
  }

  private func sendFromTask(_ producer: Int, _ count: Int) async {
    var random = SeededGenerator(seed: seed &+ UInt64(producer) << 32)
    var own = events.map { _ in [Int]() }
    for index in 0..<count {
      let (event, id) = (random.below(events.count), producer << 16 | index)
      own[event].append(id)
      if random.chance(20) { await send(id, to: event) } else { post(id, to: event) }
      guard random.chance(3) else { continue }
      await events[event].quiesce()
      for handler in handlers where handler.plan.event == event && isAwaited(handler) {
        if let id = own[event].first(where: { !handler.hasReturned($0) }) {
          handler.fail("quiesce has not waited for \(id)")
        }
      }
    }
  }

  private func postFromThread(_ producer: Int, _ count: Int) {
    var random = SeededGenerator(seed: seed &+ UInt64(producer) << 32)
    for index in 0..<count {
      post(producer << 16 | index, to: random.below(events.count))
      if random.chance(4) { nap(microseconds: UInt32(random.below(300))) }
    }
  }

  private func postFromMain(_ producer: Int, _ count: Int) async {
    var random = SeededGenerator(seed: seed &+ UInt64(producer) << 32)
    for first in stride(from: 0, to: count, by: 4) {
      let targets = (0..<4).map { _ in random.below(events.count) }
      await MainActor.run {
        for index in 0..<4 { post(producer << 16 | first + index, to: targets[index]) }
      }
    }
  }

  /// Locks, removes, and looks, until the senders have ended.
  private func interfere(until areDone: Gate) async {
    var random = SeededGenerator(seed: seed &+ 99)
    while !areDone.isOpen {
      if random.chance(60) { try? await Task.sleep(for: .microseconds(random.below(800))) } else { await Task.yield() }
      let number = random.below(handlers.count)
      let (handler, token) = (handlers[number], tokens[number])
      let event = events[handler.plan.event]
      let isHolding = handler.plan.locks == .holding || random.chance(50)
      switch random.below(12) {
      case 0...2 where handler.plan.locks != .none:
        event.lock(token, holding: isHolding ? .unbounded : nil)
        handler.noteLocked()
        if random.chance(80) { try? await Task.sleep(for: .microseconds(random.below(500))) }
        if handler.plan.locks == .any, random.chance(20) { event.lock(token, holding: .latest) }
        handler.noteUnlocking()
        event.unlock(token)
      case 3 where handler.plan.locks != .none:
        await event.withLocked(token, holding: isHolding ? .unbounded : nil) {
          handler.noteLocked()
          await Task.yield()
          handler.noteUnlocking()
        }
      case 4, 5:
        guard locksEvents else { continue }
        let locked = handlers.filter { $0.plan.event == handler.plan.event }
        event.lock(holding: .unbounded)
        for handler in locked { handler.noteLocked() }
        try? await Task.sleep(for: .microseconds(random.below(500)))
        for handler in locked { handler.noteUnlocking() }
        event.unlock()
      case 6 where handler.plan.isRemoved: if event.remove(token) { handler.noteRemoved() }
      case 7 where handler.plan.losesOwner: owners[number] = nil
      case 8:
        for snapshot in await event.handlers() where snapshot.waitingCount < 0 || snapshot.heldCount < 0 {
          handler.fail("a look shows \(snapshot)")
        }
      case 9: await event.quiesce()
      case 10: await lanes[random.below(2)].lane.quiesce()
      default: _ = (event.handlerCount, event.contains(token), event.isLocked(token), lanes[0].lane.description)
      }
    }
  }

  // MARK: The round

  func run() async {
    let count = 20 + random.below(60)
    let (threads, tasks, usesMain) = (1 + random.below(3), 10..<11 + random.below(3), random.chance(40))
    let areDone = Gate()
    let interfering = Task { await interfere(until: areDone) }
    let posting = (1..<threads).map { number in startThread { self.postFromThread(number, count) } }
    await withTaskGroup(of: Void.self) { group in
      for number in tasks { group.addTask { await self.sendFromTask(number, count) } }
      if usesMain { group.addTask { await self.postFromMain(20, count) } }
      guard cancels else { return }
      try? await Task.sleep(for: .milliseconds(1))
      group.cancelAll()
    }
    for gate in posting { await gate.opened() }
    areDone.open()
    await interfering.value
    if ending != .busy {
      await quiesceAll()
      for event in events.indices { await judge(event, await events[event].handlers()) }
    }
    for handler in handlers { handler.noteEnding() }
    await end()
    for handler in handlers {
      handler.close()
      judge(handler)
      await handler.checkRelease()
    }
    judgeSharedLane()
    owners = []
  }

  /// Waits for all calls, and for those of the payloads that these calls have sent.
  private func quiesceAll() async {
    for _ in 0..<(nests ? 3 : 1) { for event in events { await event.quiesce() } }
  }

  private func end() async {
    guard ending != .released else { return events = [] }
    for event in events { event.finish() }
    await quiesceAll()
  }

  // MARK: Judging

  /// Checks the counts of the handlers of an event that has nothing left to do.
  private func judge(_ event: Int, _ snapshots: [HandlerSnapshot]) async {
    let total = orders[event].count
    let number = posted[event].value
    if total != number { faults.record("\(total) of \(number) payloads were delivered") }
    for (handler, token) in zip(handlers, tokens) where handler.plan.event == event && !handler.plan.stays {
      // The loss of an owner is found by the next payload only.
      guard handler.state.withLock({ $0.isRemoved || handler.plan.isOnce && $0.calls > 0 }) else { continue }
      if snapshots.contains(where: { $0.id == token.id }) { handler.fail("it is still in the event") }
      await handler.checkRelease()
    }
    for (handler, token) in zip(handlers, tokens) where handler.plan.event == event && handler.plan.stays {
      guard let shown = snapshots.first(where: { $0.id == token.id }) else {
        handler.fail("it is not in the event")
        continue
      }
      let seen = handler.state.withLock { $0.order.count }
      let sum = shown.callCount + shown.skippedCount + shown.droppedCount
      // A call that was cancelled for a newer payload counts twice.
      if handler.plan.isRestarting ? sum < total : sum != total {
        handler.fail("\(total) payloads, but \(shown), \(shown.skippedCount) skipped")
      }
      if shown.callCount != seen { handler.fail("\(seen) calls, but \(shown)") }
      if shown.waitingCount + shown.heldCount > 0 { handler.fail("something is left: \(shown)") }
      guard handler.plan.getsAll, handler.plan.batch == nil, handler.plan.timeLimit == nil else { continue }
      for (id, attempts) in handler.state.withLock({ $0.attempts })
      where attempts != min(handler.plan.failures(of: id) + 1, handler.plan.attempts) {
        handler.fail("\(attempts) attempts with \(id)")
      }
    }
  }

  /// Checks which payloads a handler has received, and in what order.
  private func judge(_ handler: LaneCheckHandler) {
    let (plan, state) = (handler.plan, handler.state.withLock { $0 })
    let order = orders[plan.event].values
    let places = Dictionary(uniqueKeysWithValues: zip(order, 0...))
    if state.running != 0 { handler.fail("a call still runs") }
    if plan.getsAll, Set(state.order) != Set(order) {
      handler.fail("\(Set(order).subtracting(state.order).sorted()) of \(order.count) are missing")
    }
    if plan.getsTheLast, let last = order.last, state.attempts[last] == nil { handler.fail("the last one is missing") }
    if plan.isOnce, state.calls > 1 { handler.fail("\(state.calls) calls") }
    if plan.isOnce, state.calls == 0, !order.isEmpty, plan.locks == .none, !plan.isRemoved, !plan.losesOwner {
      handler.fail("no call")
    }
    var last: [Int: Int] = [:]
    for id in state.order {
      guard let place = places[id] else { return handler.fail("\(id) was not delivered") }
      let key = plan.isByKey ? plan.key(of: id) : 0
      if plan.isInOrder || plan.isByKey, place < last[key, default: -1] { return handler.fail("\(id) is out of order") }
      last[key] = place
    }
    var lastOfProducer: [Int: Int] = [:]
    for id in order where id >> 40 == 0 {
      if let last = lastOfProducer[id >> 16], last > id { return faults.record("\(id) came after \(last)") }
      lastOfProducer[id >> 16] = id
    }
  }

  /// Checks that the handlers of an event have one order on a lane of one call at a time.
  private func judgeSharedLane() {
    guard !locksEvents else { return }
    let calls = lanes[0].state.withLock { $0.calls }
    for event in orders.indices {
      let places = Dictionary(uniqueKeysWithValues: zip(orders[event].values, 0...))
      var last = (place: -1, handler: -1)
      for (handler, id) in calls {
        let plan = handlers[handler].plan
        guard plan.event == event, plan.getsAll, plan.locks == .none, plan.batch == nil else { continue }
        let next = (place: places[id] ?? -1, handler: handler)
        if next < last { handlers[handler].fail("\(id) is out of the order of the lane") }
        last = next
      }
    }
  }
}
