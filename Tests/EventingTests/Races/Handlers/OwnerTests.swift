import Dispatch
import Synchronization
import Testing

#if DEBUG
  @testable import Eventing
#else
  import Eventing
#endif

/// Tests of guarantee G10: a handler ends with its owner, and does not retain it.
@Suite(.fewAtATime) struct OwnerTests {
  @Test func aHandlerIsCalledWithItsOwner() {
    let event = Event<Int>()
    let owner = Owner(LiveCount())
    let seen = Recorder<ObjectIdentifier>()
    event.addHandler(owner: owner) { owner, _ in seen.record(ObjectIdentifier(owner)) }
    event.post(1)
    #expect(seen.values == [ObjectIdentifier(owner)])
  }

  @Test(arguments: OwnedKind.allCases) func aHandlerDoesNotKeepItsOwnerAliveAndIsNeitherCalledNorCountedAfterwards(
    kind: OwnedKind
  ) async {
    let event = Event<Int>()
    let live = LiveCount()
    let calls = Recorder<Int>()
    var owner: Owner? = Owner(live)
    kind.add(to: event, owner!) { calls.record($0) }
    #expect(await event.send(1).delivered == 1)
    owner = nil
    #expect(await eventually { live.alive == 0 })
    let report = await event.send(2)
    #expect(report.delivered + report.skipped + report.failures.count == 0)
    #expect(calls.values == [1])
    _ = owner
  }

  @Test func aHandlerOnAnActorEndsWithThatActor() async {
    let event = Event<Int>()
    let live = LiveCount()
    let calls = Recorder<Int>()
    var account: Account? = Account(live)
    event.addHandler(isolatedTo: account!) { _, value in calls.record(value) }
    #expect(await event.send(1).delivered == 1)
    account = nil
    #expect(await eventually { live.alive == 0 })
    #expect(await event.send(2).delivered == 0)
    #expect(calls.values == [1])
    _ = account
  }

  @Test func anOwnerIsHeldForTheLengthOfACall() async {
    let event = Event<Int>()
    let live = LiveCount()
    let box = ConditionLock<Owner?>(Owner(live))
    let seen = Recorder<Int>()
    event.addHandler(owner: box.withLock { $0! }) { _, _ in
      box.withLock { $0 = nil }
      seen.record(live.alive)
    }
    event.post(1)
    #expect(seen.values == [1])
    #expect(await eventually { live.alive == 0 })
  }

  @Test func anOwnerIsHeldForTheLengthOfACallOnALane() async {
    let event = Event<Int>()
    let live = LiveCount()
    let box = ConditionLock<Owner?>(Owner(live))
    let seen = Recorder<Int>()
    event.addHandler(owner: box.withLock { $0! }) { _, _ async in
      box.withLock { $0 = nil }
      await Task.yield()
      seen.record(live.alive)
    }
    await event.send(1)
    #expect(seen.values == [1])
    #expect(await eventually { live.alive == 0 })
  }

  @Test func aDeliveryQueuedOnALaneIsSkippedWhenTheOwnerIsReleased() async {
    let event = Event<Int>()
    let live = LiveCount()
    let calls = Recorder<Int>()
    let queue = DispatchQueue(label: "test")
    var owner: Owner? = Owner(live)
    event.addHandler(on: .queue(queue), owner: owner!) { _, value in calls.record(value) }
    queue.suspend()
    let ticket = event.submit(1)
    owner = nil
    #expect(await eventually { live.alive == 0 }, "what is queued does not keep the owner alive")
    queue.resume()
    let report = await ticket.report
    #expect(report.skipped == 1)
    #expect(report.delivered == 0)
    #expect(calls.values == [])
    _ = owner
  }

  @Test func aLaterObjectAtTheSameAddressIsNotTakenForTheOwner() {
    let event = Event<Int>()
    let calls = Recorder<Int>()
    var reused = 0
    for round in 0..<20_000 where reused < 100 {
      var owner: Owner? = Owner(LiveCount())
      let address = ObjectIdentifier(owner!)
      let token = event.addHandler(owner: owner!) { _, value in calls.record(value) }
      owner = nil
      let later = Owner(LiveCount())
      if ObjectIdentifier(later) == address {
        reused += 1
        #expect(event.contains(token) == false)
        #expect(event.lockAll(where: .ownedBy(later)) == 0)
        #expect(event.unlockAll(where: .ownedBy(later)) == 0)
        #expect(event.removeAll(where: .ownedBy(later)) == 0)
        event.post(round)
      }
      withExtendedLifetime(later) {}
      _ = owner
    }
    #expect(calls.values == [])
    #expect(reused > 0, "an address was used again")
  }

  @Test func aLaterObjectAtTheSameAddressHasItsOwnHandlersOnly() async {
    let event = Event<Int>()
    let (old, new) = (Recorder<Int>(), Recorder<Int>())
    var isReused = false
    for _ in 0..<20_000 where !isReused {
      var owner: Owner? = Owner(LiveCount())
      let address = ObjectIdentifier(owner!)
      event.addHandler(owner: owner!) { _, value in old.record(value) }
      owner = nil
      let later = Owner(LiveCount())
      if ObjectIdentifier(later) == address {
        isReused = true
        event.addHandler(owner: later) { _, value in new.record(value) }
        #expect(await event.handlers(where: .ownedBy(later)).count == 1)
        #expect(await event.send(1).delivered == 1)
        #expect(event.removeAll(where: .ownedBy(later)) == 1)
      }
      withExtendedLifetime(later) {}
      _ = owner
    }
    #expect(old.values == [])
    #expect(new.values == [1])
    #expect(isReused, "an address was used again")
  }

  @Test func inspectionDoesNotCountAHandlerWhoseOwnerIsGone() async {
    let event = Event<Int>("name")
    var owner: Owner? = Owner(LiveCount())
    let token = event.addHandler(.named("owned"), owner: owner!) { _, _ in }
    #expect(event.handlerCount == 1)
    #expect(event.contains(token))
    owner = nil
    #expect(event.handlerCount == 0)
    #expect(event.handlerCount == 0)
    #expect(!event.contains(token))
    #expect(!event.contains(where: .named("owned")))
    #expect(!event.isLocked(token))
    #expect(!event.lock(token))
    #expect(event.lockAll() == 0)
    #expect(event.removeAll() == 0)
    #expect(await event.handlers().isEmpty)
    _ = owner
  }

  @Test func theClosureOfAnOwnersHandlerIsReleasedByTheNextSend() {
    let event = Event<Int>()
    let (owners, closures) = (LiveCount(), LiveCount())
    for _ in 0..<100 {
      let (owner, canary) = (Owner(owners), Canary(closures))
      event.addHandler(owner: owner) { _, _ in canary.sing() }
    }
    #expect(owners.alive == 0)
    event.post(1)
    #expect(closures.alive == 0)
  }

  @Test func closuresOfHandlersWhoseOwnersAreGoneAreReleasedAsHandlersAreAdded() {
    let event = Event<Int>()
    let closures = LiveCount()
    for _ in 0..<20_000 {
      let (owner, canary) = (Owner(LiveCount()), Canary(closures))
      event.addHandler(owner: owner) { _, _ in canary.sing() }
    }
    #expect(closures.alive < 100)
  }

  @Test func theDeinitOfAnOwnerMayCallTheEvent() async {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    event.addHandler { seen.record($0) }
    let box = ConditionLock<Owner?>(
      Owner(LiveCount()) { [weak event] in
        event?.post(2)
        event?.addHandler { seen.record(10 * $0) }
        _ = event?.handlerCount
      })
    event.addHandler(owner: box.withLock { $0! }) { _, _ in box.withLock { $0 = nil } }
    event.post(1)
    event.post(3)
    #expect(seen.values == [1, 2, 3, 30])
  }

  @Test func anOwnerMayRemoveItsHandlersInItsDeinit() {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    do {
      let owner = RemovingOwner(event)
      event.addHandler(owner: owner) { _, value in seen.record(value) }
      event.post(1)
    }
    event.post(2)
    #expect(seen.values == [1])
    #expect(event.handlerCount == 0)
  }

  @Test func aHandlerThatIsCalledWithAnOwnerKeepsThatOne() {
    let event = Event<Int>()
    let (owner, other) = (Owner(LiveCount()), RemovingOwner(event))
    let calls = Recorder<Bool>()
    OwningSource(event: event, owner: other).addHandler(owner: owner) { given, _ in calls.record(given === owner) }
    event.post(1)
    #expect(calls.values == [true])
  }

  @Test func noHandlerIsCalledWithAnOwnerThatIsGoneWhenOwnersGoWhileThreadsPost() async {
    let event = Event<Int>()
    let live = LiveCount()
    let calls = Atomic<Int>(0)
    let dead = Atomic<Int>(0)
    let overlaps = Overlaps()
    await onThreads(3, until: { overlaps.suffice(1_000) && calls.load(ordering: .relaxed) > 300 }) { thread, round in
      guard thread == 0 else { return overlaps.during { event.post(round) } }
      var owner: Owner? = Owner(live)
      event.addHandler(owner: owner!) { owner, _ in
        calls.wrappingAdd(1, ordering: .relaxed)
        if owner.isGone { dead.wrappingAdd(1, ordering: .relaxed) }
      }
      for _ in 0..<round % 8 { event.post(-1) }
      overlaps.during { owner = nil }
      _ = owner
    }
    await event.quiesce()
    #expect(dead.load(ordering: .relaxed) == 0)
    #expect(live.alive == 0)
    #expect(calls.load(ordering: .relaxed) > 100)
    #expect(overlaps.count > 100)
  }
}

#if DEBUG
  extension OwnerTests {
    @Test func theRecordOfAHandlerWhoseOwnerIsGoneIsReclaimedByTheNextSend() {
      let event = Event<Int>()
      for _ in 0..<1_000 {
        let owner = Owner(LiveCount())
        event.addHandler(owner: owner) { _, _ in }
      }
      event.post(1)
      let slots = event.core.table.count
      #expect(slots == 0)
    }

    @Test func recordsOfHandlersWhoseOwnersAreGoneAreReclaimedAsHandlersAreAdded() {
      let event = Event<Int>()
      var most = 0
      for _ in 0..<20_000 {
        let owner = Owner(LiveCount())
        event.addHandler(owner: owner) { _, _ in }
        most = max(most, Int(event.core.table.count))
      }
      #expect(most < 100)
    }
  }
#endif

private final class RemovingOwner: Sendable {
  private let event: Event<Int>
  init(_ event: Event<Int>) { self.event = event }
  deinit { event.removeAll(where: .ownedBy(self)) }
}

/// A source that gives its own owner to every handler.
private struct OwningSource: EventSource {
  let event: Event<Int>
  let owner: RemovingOwner

  func add(contentsOf handlers: [Handler<Int>]) -> [HandlerToken] {
    event.add(contentsOf: handlers.map { $0.owned(by: owner) })
  }
  func add(_ handler: Handler<Int>) -> HandlerToken { event.add(handler.owned(by: owner)) }
  func remove(_ token: HandlerToken) -> Bool { event.remove(token) }
}

private actor Account {
  private let canary: Canary
  init(_ live: LiveCount) { canary = Canary(live) }
}
