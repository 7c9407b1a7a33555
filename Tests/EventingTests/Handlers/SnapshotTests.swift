import Dispatch
import Synchronization
import Testing

#if DEBUG
  @testable import Eventing
#else
  import Eventing
#endif

/// Tests of snapshots: the place in the source, the key, the counts, and the waiting occurrences.
@Suite(.fewAtATime) struct SnapshotTests {
  struct Problem: Error {}
  struct Nothing: EventObserver { func observe(_ step: EventStep) {} }

  // MARK: Failures

  @Test func failedCallsAreCountedWhereverTheHandlerRuns() async {
    let (event, owner) = (Event<Int>(), Owner(LiveCount()))
    let fail: @Sendable (Int) throws -> Void = { if $0 % 2 == 0 { throw Problem() } }
    event.addHandler(perform: fail)
    event.addHandler(.named("named"), perform: fail)
    event.addHandler(owner: owner) { _, number in try fail(number) }
    event.map { $0 }.addHandler(perform: fail)
    event.addHandler(on: .background, perform: fail)
    for lane in BoundedLane.allCases { event.add(lane.throwing(fail)) }
    event.addHandler { _ in }
    for number in 0..<5 { await event.send(number) }
    let handlers = await event.handlers()
    #expect(handlers.dropLast().allSatisfy { $0.failedCount == 3 && $0.callCount == 5 })
    #expect(handlers.last?.failedCount == 0)
  }

  @Test func failuresAreCountedUnderEveryPolicy() async {
    for (policy, expected) in [
      (FailurePolicy.skipLaterHandlers, [4]), (.removeHandler(afterFailures: 3), []),
      (.removeHandler(afterFailures: 9), [4]),
    ] {
      let event = Event<Int>("e", onFailure: policy)
      event.addHandler { _ in throw Problem() }
      for number in 0..<4 { event.post(number) }
      #expect(await event.handlers().map(\.failedCount) == expected)
    }
  }

  @Test func countsOfRemovedHandlersAreDiscarded() async {
    let event = Event<Int>()
    for _ in 0..<100 {
      let token = event.addHandler { _ in throw Problem() }
      event.post(1)
      event.remove(token)
    }
    #if DEBUG
      #expect(event.core.anchor.failures().counts.isEmpty)
    #endif
  }

  // MARK: Running calls

  @Test(arguments: LaneDelivery.allCases) func theAgeOfARunningCallIsKnownIfTheEventIsObserved(
    lane: LaneDelivery
  ) async {
    for isObserved in [false, true] {
      let (event, begun, gate) = (Event<Int>(), Gate(), Gate())
      event.add(lane.handler(DispatchQueue(label: "test"), until: gate) { begun.open() })
      let observation = isObserved ? event.observe(with: Nothing()) : nil
      #expect(await event.handlers().map { $0.runningFor == nil } == [true])
      event.post(1)
      await begun.opened()
      let first = await event.handlers()[0].runningFor
      let second = await event.handlers()[0].runningFor
      #expect((first != nil) == isObserved)
      if let first, let second { #expect(.zero <= first && first <= second) }
      gate.open()
      await event.quiesce()
      #expect(await event.handlers().map { $0.runningFor == nil } == [true])
      observation?.end()
    }
  }

  // MARK: Keys, places, text

  @Test func theKeyOfAHandlerIsKnown() async {
    let (rooms, object, objects) = (KeyedEvent<String, Int>(), Plain(), KeyedEvent<ObjectKey, Int>())
    rooms["lobby"].addHandler(.named("a")) { _ in }
    rooms["attic"].addHandler(on: .background) { _ in }
    rooms.anyKey.addHandler { _ in }
    objects[object].addHandler { _ in }
    let keys = await rooms.handlers().map { $0.key as? String }
    #expect(Set(keys) == ["lobby", "attic", nil] && keys.count == 3)
    let inLobby = await rooms.handlers(where: .key("lobby", of: rooms)).map(\.description)
    #expect(inLobby.count == 1 && inLobby.allSatisfy { $0.hasPrefix("a of lobby on inline, ") })
    #expect(await objects.handlers().map { $0.key as? ObjectKey } == [ObjectKey(object)])
    #expect(await Event<Int>().handlers().allSatisfy { $0.key == nil })
  }

  @Test func aSnapshotHasThePlaceInTheSource() async {
    let (event, line) = (Event<Int>(), #line + 1)
    event.addHandler(.named("a")) { _ in }
    #expect(await event.handlers().map(\.token.fileID) == ["EventingTests/SnapshotTests.swift"])
    #expect(await event.handlers().map(\.token.line) == [line])
    #expect(
      await event.handlers().map(\.description) == [
        "a on inline, SnapshotTests.swift:\(line), 0 calls, 0 failed, 0 dropped"
      ])
  }

  #if DEBUG
    @Test func theDescriptionSaysWhatTheHandlerDoes() {
      let token = Event<Int>().addHandler(.named("billing"), fileID: "Shop/Orders/Orders.swift", line: 12) { _ in }
      func snapshot(_ runningFor: Duration?) -> HandlerSnapshot {
        HandlerSnapshot(
          token: token, name: "billing", delivery: "in order", key: nil, priority: 0, tags: [], isLocked: false,
          isOnce: false, hasOwner: false, waitingCount: 3, runningFor: runningFor, attempt: 2, callCount: 41,
          failedCount: 1, skippedCount: 0, droppedCount: 0, heldCount: 0)
      }
      #expect(
        "\(snapshot(.milliseconds(2_199)))"
          == "billing on in order, Orders.swift:12, 3 waiting, running for 2.1 s, attempt 2, 41 calls, 1 failed, 0 dropped"
      )
      #expect("\(snapshot(.seconds(70)))".contains(", running for 70.0 s, "))
      #expect(!"\(snapshot(nil))".contains("running"))
    }
  #endif
}
