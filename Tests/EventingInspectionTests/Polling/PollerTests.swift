import Dispatch
import EventingTesting
import Foundation
import Testing

@testable import Eventing
@testable import EventingInspection

/// Tests of the warnings that polls find, at times that the tests choose.
@Suite struct PollerTests {
  static let second: UInt64 = 1_000_000_000

  func warning(
    _ code: PolledWarning.Code, _ poller: Poller, _ event: UInt64, _ handler: UInt64? = nil
  ) -> PolledWarning? {
    poller.warnings.all.first { $0.code == code && $0.event == event && (handler == nil || $0.handler == handler) }
  }

  // MARK: Stuck

  @Test(arguments: [false, true]) func aStuckCallBesideOthersIsSeen(isShared: Bool) async throws {
    EventRegistry.start()
    defer { EventRegistry.stop() }
    let event = Event<Int>("stuck")
    let (entered, goOn) = (Signal(), Signal())
    let waiting = (entered.payloads(), goOn.payloads())
    let lane = HandlerLane("shared", limit: 2)
    let body: @Sendable (Int) async -> Void = { number in
      guard number == 0 else { return }
      entered.post()
      for await _ in waiting.1 { return }
    }
    let token =
      isShared
      ? event.addHandler(on: .lane(lane), perform: body)
      : event.addHandler(.inOrder { number in number }, on: .concurrent(limit: 3), perform: body)
    event.post(0)
    for await _ in waiting.0 { break }
    let (poller, now) = (Poller(), InspectionClock.now)
    for round in 0...4 {
      await event.send(round + 1)
      poller.poll(at: now + UInt64(round) * Self.second / 2)
    }
    #expect(warning(.stuck, poller, event.identity.number, token.id)?.count == 2_000)
    goOn.post()
    await event.quiesce()
  }

  @Test func aStuckDeliveryIsSeenAndItsWarningGoesAfterASecond() async throws {
    EventRegistry.start()
    defer { EventRegistry.stop() }
    let event = Event<Int>("hangs inline")
    let gates = Gates()
    event.addHandler { number in gates.pass(number) }
    DispatchQueue.global().async { event.post(0) }
    await gates.entered(0)
    let (poller, now, id) = (Poller(), InspectionClock.now, event.identity.number)
    poller.poll(at: now)
    #expect(poller.events[try #require(poller.index(of: id))].busyAt == now)
    poller.poll(at: now + Self.second)
    #expect(warning(.stuck, poller, id)?.count == 1_000 && warning(.stuck, poller, id)?.handler == nil)
    gates.open(0)
    await event.quiesce()
    // The thread that drained the event may not have left it yet.
    while poller.events[try #require(poller.index(of: id))].busyAt != nil {
      await Task.yield()
      poller.poll(at: now + Self.second)
    }
    poller.poll(at: now + Self.second * 19 / 10)
    #expect(warning(.stuck, poller, id) != nil)
    poller.poll(at: now + 2 * Self.second)
    #expect(warning(.stuck, poller, id) == nil)
  }

  // MARK: Backlog and flood

  @Test func aBacklogIsSeenAndAFloodWhilePostsAreSlowed() async throws {
    EventRegistry.start()
    defer { EventRegistry.stop() }
    let event = Event<Int>("flooded")
    let gates = Gates()
    event.addHandler { number in if number < 2 { gates.pass(number) } }
    DispatchQueue.global().async { event.post(0) }
    await gates.entered(0)
    let (poller, now, id) = (Poller(), InspectionClock.now + 2 * Self.second, event.identity.number)
    poller.poll(at: now)
    for number in 1...1_200 { event.post(number) }
    poller.poll(at: now + Self.second)
    #expect(warning(.flood, poller, id)?.count == 1_200 && warning(.flood, poller, id)?.limit == 1_024)
    #expect(warning(.backlog, poller, id)?.count == 1_200)
    // The drain takes all occurrences out of the mailbox. The occurrences still wait, but the
    // mailbox is empty, so posts are no longer slowed.
    gates.open(0)
    await gates.entered(1)
    poller.poll(at: now + Self.second * 19 / 10)
    #expect(poller.events[try #require(poller.index(of: id))].reading.waiting >= 1_024)
    #expect(warning(.flood, poller, id) != nil)
    poller.poll(at: now + 2 * Self.second)
    #expect(warning(.flood, poller, id) == nil)
    poller.poll(at: now + Self.second * 109 / 10)
    #expect(warning(.backlog, poller, id) != nil)
    poller.poll(at: now + 11 * Self.second)
    #expect(warning(.backlog, poller, id) == nil)
    gates.open(1)
    await event.quiesce()
  }

  @Test func aBacklogOfALaneIsSeen() async throws {
    EventRegistry.start()
    defer { EventRegistry.stop() }
    let event = Event<Int>("behind")
    let goOn = Signal()
    let waiting = goOn.payloads()
    let token = event.addHandler(on: .inOrder) { (number: Int) async in
      if number == 0 { for await _ in waiting { return } }
    }
    event.post(0)
    let (poller, now) = (Poller(), InspectionClock.now)
    poller.poll(at: now)
    for number in 1...1_100 { event.post(number) }
    poller.poll(at: now + Self.second)
    let found = warning(.backlog, poller, event.identity.number, token.id)
    #expect(found?.count ?? 0 >= 1_099 && found?.limit == 1_024)
    goOn.post()
    await event.quiesce()
  }

  // MARK: Unheard

  @Test func whatReachesNobodyIsToldAfterTenSeconds() throws {
    EventRegistry.start()
    defer { EventRegistry.stop() }
    let (event, value, deaf) = (Event<Int>("unheard"), Observed(0), Observed(0))
    EventRegistry.include(value)
    EventRegistry.include(deaf)
    let locked = deaf.newValues.addHandler { _ in }
    deaf.lock(locked)
    for number in 1...3 {
      event.post(number)
      value.value = number
      deaf.value = number
    }
    let (poller, now) = (Poller(), InspectionClock.now)
    poller.poll(at: now)
    let id = event.identity.number
    let joinedAt = poller.events[try #require(poller.index(of: id))].event.joinedAt
    poller.poll(at: joinedAt + 10 * Self.second - 1)
    #expect(warning(.unheard, poller, id) == nil)
    poller.poll(at: now + 10 * Self.second)
    #expect(warning(.unheard, poller, id)?.count == 3)
    #expect(warning(.unheard, poller, value.handlerTable.inspected[0].id) == nil, "a value may be read alone")
    #expect(warning(.unheard, poller, deaf.handlerTable.inspected[0].id) != nil)
  }

  // MARK: Failing

  @Test func aHandlerThatBeginsToFailIsSeen() async throws {
    EventRegistry.start()
    defer { EventRegistry.stop() }
    let event = Event<Bool>("fails")
    let inline = event.addHandler { fails in if fails { throw CancellationError() } }
    let lane = event.addHandler(on: .inOrder) { fails async throws in if fails { throw CancellationError() } }
    let (poller, id) = (Poller(), event.identity.number)
    func interval(_ outcomes: [Bool]) async {
      for fails in outcomes { await event.send(fails) }
      poller.poll()
    }
    // Each interval between two polls has failed calls and a successful one.
    for _ in 0..<5 { await interval([true, true, true, false, true, true]) }
    #expect(warning(.failing, poller, id) == nil)
    await interval(Array(repeating: true, count: 9))
    #expect(warning(.failing, poller, id) == nil)
    await interval([true])
    for token in [inline, lane] { #expect(warning(.failing, poller, id, token.id)?.count == 10) }
  }

  @Test func aHandlerWhoseBatchesFailIsSeen() async {
    EventRegistry.start()
    defer { EventRegistry.stop() }
    let event = Event<Bool>("fails")
    let body: @Sendable ([Bool]) async throws -> Void = { batch in if batch[0] { throw CancellationError() } }
    let token = event.batches(of: 5, within: .seconds(3_600), clock: ManualClock()).addHandler(perform: body)
    let (poller, id) = (Poller(), event.identity.number)
    func interval(_ outcomes: [Bool]) async {
      for fails in outcomes { for _ in 0..<5 { event.post(fails) } }
      await event.quiesce()
      poller.poll()
    }
    for _ in 0..<3 { await interval([true, true, false, true]) }
    #expect(warning(.failing, poller, id) == nil)
    await interval([true, true])
    #expect(warning(.failing, poller, id, token.id)?.count == 10)
    let snapshot = await event.handlers().first
    #expect(snapshot?.callCount == 70 && snapshot?.failedCount == 55)
  }

  @Test func onlyTheLastAttemptOfACallFails() async {
    EventRegistry.start()
    defer { EventRegistry.stop() }
    let event = Event<Int>("retries")
    let attempts = Guarded(0)
    let body: @Sendable (Int) async throws -> Void = { failures in
      let attempt = attempts.withLock { attempts in
        attempts += 1
        return attempts
      }
      if attempt <= failures { throw CancellationError() }
    }
    let token = event.addHandler(.retrying(.immediately(attempts: 3)), on: .inOrder, perform: body)
    let (poller, id) = (Poller(), event.identity.number)
    func call(failures: Int) async {
      attempts.withLock { $0 = 0 }
      await event.send(failures)
    }
    for _ in 0..<12 { await call(failures: 2) }
    poller.poll()
    #expect(warning(.failing, poller, id) == nil)
    for _ in 0..<10 { await call(failures: 3) }
    poller.poll()
    #expect(warning(.failing, poller, id, token.id)?.count == 10)
  }

  // MARK: Edges

  @Test func twoForwardsToOneEventAreOneEdge() throws {
    EventRegistry.start()
    defer { EventRegistry.stop() }
    let (event, target) = (Event<Int>("source"), Event<Int>("target"))
    let first = event.forward(to: target)
    event.post(1)
    let second = event.filter { $0 > 0 }.forward(to: target)
    let heard = event.addHandler { (_: Int) in }
    event.post(2)
    let poller = Poller()
    func edge() throws -> (row: GraphEdge, version: UInt64) {
      let edges = poller.events[try #require(poller.index(of: event.identity.number))].edges
      #expect(edges.count == 1)
      return try #require(edges.first)
    }
    // A poller sees the events of the whole process, those of other tests, too.
    var goneEdges: Int {
      poller.gone.count { if case .edge = $0.row { $0.event == event.identity.number } else { false } }
    }
    poller.poll()
    let before = try edge()
    #expect(before.row.count == 3)
    // A poll reads the edges (forwards) of an event only if the row of some handler of the event
    // has changed. The lock changes the row of `heard`.
    event.lock(heard)
    poller.poll()
    #expect(try edge().version == before.version, "an edge that has not changed is not sent again")
    event.post(3)
    poller.poll()
    #expect(try edge().row.count == 5)
    // The edge stays. Its count is that of the second forward alone, which forwarded two
    // occurrences.
    event.remove(first)
    poller.poll()
    #expect(try edge().row.count == 2 && goneEdges == 0)
    event.remove(second)
    poller.poll()
    #expect(goneEdges == 1)
    withExtendedLifetime(target) {}
  }
}

/// Gates for handlers that block the thread that delivers.
private final class Gates: Sendable {
  private let semaphores = (0..<2).map { _ in DispatchSemaphore(value: 0) }
  private let passing = Guarded<Set<Int>>([])

  func pass(_ number: Int) {
    passing.withLock { _ = $0.insert(number) }
    semaphores[number].wait()
  }

  func open(_ number: Int) { semaphores[number].signal() }

  func entered(_ number: Int) async { _ = await eventually { passing.withLock { $0.contains(number) } } }
}
