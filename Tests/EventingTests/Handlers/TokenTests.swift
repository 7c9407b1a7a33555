import Eventing
import Synchronization
import Testing

/// Tests of guarantee G11: tokens retain nothing, and other events refuse them. Also tests that
/// bags remove their handlers.
@Suite(.fewAtATime) struct TokenTests {
  @Test func droppingATokenChangesNothing() async {
    let event = Event<Int>()
    do { _ = event.addHandler { _ in } }
    #expect(await event.send(1).delivered == 1)
  }

  @Test func everyVerbRefusesATokenOfARemovedHandler() async {
    let event = Event<Int>()
    let token = event.addHandler { _ in }
    #expect(event.remove(token))
    #expect(!event.remove(token))
    #expect(!event.lock(token))
    #expect(!event.unlock(token))
    #expect(!event.isLocked(token))
    #expect(!event.contains(token))
    #expect(event.removeAll(where: .oneOf([token, token])) == 0)
    #expect(event.lockAll(where: .oneOf([token])) == 0)
    #expect(event.unlockAll(where: .oneOf([token])) == 0)
    #expect(await event.withLocked(token) { 5 } == 5)
  }

  @Test func everyVerbRefusesATokenOfAnotherEvent() async {
    let (event, other) = (Event<Int>(), Event<Int>())
    let token = event.addHandler { _ in }
    other.addHandler { _ in }
    #expect(!other.remove(token))
    #expect(!other.lock(token))
    #expect(!other.unlock(token))
    #expect(!other.isLocked(token))
    #expect(!other.contains(token))
    #expect(other.removeAll(where: .oneOf([token])) == 0)
    #expect(other.lockAll(where: .oneOf([token])) == 0)
    #expect(other.unlockAll(where: .oneOf([token])) == 0)
    await other.withLocked(token) {
      #expect(!event.isLocked(token))
      #expect(await event.send(1).delivered == 1)
    }
    #expect(event.contains(token))
    #expect(await other.send(1).delivered == 1)
  }

  @Test func anEventWithoutHandlersRefusesATokenOfAnother() {
    let (event, empty) = (Event<Int>(), Event<Int>())
    let token = event.addHandler { _ in }
    #expect(!empty.remove(token))
    #expect(!empty.contains(token))
    #expect(event.contains(token))
  }

  @Test func anEventOfAnotherPayloadRefusesAToken() {
    let (event, other) = (Event<Int>(), Event<String>())
    let token = event.addHandler { _ in }
    other.addHandler { _ in }
    #expect(!other.remove(token))
    #expect(!other.lock(token))
    #expect(event.contains(token))
  }

  @Test func aLaterEventAtTheSameAddressRefusesATokenOfTheEarlierOne() {
    var reused = 0
    for _ in 0..<20_000 where reused < 100 {
      var event: Event<Int>? = Event()
      let address = ObjectIdentifier(event!)
      let token = event!.addHandler { _ in }
      event = nil
      let later = Event<Int>()
      let own = later.addHandler { _ in }
      if ObjectIdentifier(later) == address {
        reused += 1
        #expect(!later.remove(token))
        #expect(!later.lock(token))
        #expect(!later.isLocked(token))
        #expect(!later.contains(token))
        #expect(later.contains(own))
      }
      withExtendedLifetime(later) {}
      _ = event
    }
    #expect(reused > 0, "an address was used again")
  }

  @Test func aTokenKeepsNeitherItsEventNorTheClosureAlive() async {
    let (closures, payloads) = (LiveCount(), LiveCount())
    weak var weakEvent: Event<Canary>?
    let token: HandlerToken
    do {
      let event = Event<Canary>()
      weakEvent = event
      let canary = Canary(closures)
      token = event.addHandler { _ in canary.sing() }
      event.post(Canary(payloads))
    }
    #expect(weakEvent == nil)
    #expect(await eventually { closures.alive == 0 && payloads.alive == 0 })
    withExtendedLifetime(token) {}
  }

  @Test func aTokenOfAnEventThatIsGoneIsHarmlessOnAnother() {
    var event: Event<Int>? = Event()
    let token = event!.addHandler { _ in }
    event = nil
    let other = Event<Int>()
    #expect(!other.remove(token))
    #expect(!other.contains(token))
    _ = event
  }

  @Test func numbersOfHandlersAreNeverUsedTwice() async {
    let ids = Recorder<[UInt64]>()
    await onThreads(3) { _ in
      let event = Event<Int>()
      var own: [UInt64] = []
      for _ in 0..<2_000 {
        let token = event.addHandler { _ in }
        own.append(token.id)
        event.remove(token)
      }
      ids.record(own)
    }
    #expect(Set(ids.values.joined()).count == 6_000)
  }

  @Test func tokensAreEqualIfTheyNameTheSameHandler() {
    let event = Event<Int>()
    let (a, b) = (event.addHandler { _ in }, event.addHandler { _ in })
    let copy = a
    #expect(a == copy)
    #expect(a != b)
    #expect(Set([a, b, copy]).count == 2)
  }

  // MARK: Bags

  @Test func aBagRemovesItsHandlersWhenItIsReleased() async {
    let (event, other) = (Event<Int>(), Event<String>())
    var bag: HandlerBag? = HandlerBag()
    event.addHandler { _ in }.store(in: bag!)
    event.addHandler(on: .background) { _ in }.store(in: bag!)
    other.addHandler { _ in }.store(in: bag!)
    event.addHandler { _ in }
    #expect(await event.send(1).delivered == 3)
    bag = nil
    #expect(await event.send(2).delivered == 1)
    #expect(await other.send("a").delivered == 0)
    _ = bag
  }

  @Test func aBagReturnsTheNumberOfHandlersItRemovedAndIsEmptyAfterwards() {
    let event = Event<Int>()
    let bag = HandlerBag()
    let tokens = (0..<3).map { _ in event.addHandler { _ in } }
    for token in tokens { token.store(in: bag) }
    #expect(bag.description == "bag of 3 handlers")
    event.remove(tokens[0])
    #expect(bag.description == "bag of 2 handlers")
    #expect(bag.removeAll() == 2)
    #expect(bag.description == "bag of 0 handlers")
    #expect(bag.removeAll() == 0)
    event.addHandler { _ in }.store(in: bag)
    #expect(bag.removeAll() == 1)
    #expect(event.handlerCount == 0)
  }

  @Test func aBagReleasesTheClosuresOfItsHandlers() {
    let event = Event<Int>()
    let closures = LiveCount()
    let bag = HandlerBag()
    for priority in 0..<3 {
      let canary = Canary(closures)
      event.addHandler(.priority(priority)) { _ in canary.sing() }.store(in: bag)
    }
    #expect(closures.alive == 3)
    bag.removeAll()
    #expect(closures.alive == 0)
  }

  @Test func aBagKeepsNoEventAndNoClosureAlive() async {
    let closures = LiveCount()
    let bag = HandlerBag()
    weak var weakEvent: Event<Int>?
    do {
      let event = Event<Int>()
      weakEvent = event
      let canary = Canary(closures)
      event.addHandler { _ in canary.sing() }.store(in: bag)
    }
    #expect(weakEvent == nil)
    #expect(await eventually { closures.alive == 0 })
    #expect(bag.removeAll() == 0)
  }

  @Test func aBagEmptiedByAHandlerStopsItsLaterHandlersOfTheOccurrence() async {
    let event = Event<Int>()
    let bag = HandlerBag()
    let seen = Recorder<Int>()
    event.addHandler { _ in bag.removeAll() }
    event.addHandler { seen.record($0) }.store(in: bag)
    let report = await event.send(1)
    #expect(report.delivered == 1)
    #expect(seen.values == [])
  }

  @Test func aBagThatIsReleasedByItsOwnHandlerRemovesIt() {
    let event = Event<Int>()
    let box = ConditionLock<HandlerBag?>(HandlerBag())
    let seen = Recorder<Int>()
    let closures = LiveCount()
    let canary = ConditionLock<Canary?>(Canary(closures))
    let token = event.addHandler { [canary = canary.withLock { $0! }] value in
      canary.sing()
      seen.record(value)
      let bag = box.withLock { bag in
        defer { bag = nil }
        return bag
      }
      _ = bag
    }
    canary.withLock { $0 = nil }
    box.withLock { if let bag = $0 { token.store(in: bag) } }
    event.post(1)
    event.post(2)
    #expect(seen.values == [1])
    #expect(closures.alive == 0)
  }

  @Test func everyHandlerOfABagIsRemovedOnceWhenThreadsFillAndEmptyIt() async {
    let event = Event<Int>()
    let bag = HandlerBag()
    let overlaps = Overlaps()
    let added = Atomic<Int>(0)
    let removed = Atomic<Int>(0)
    await onThreads(3, until: { overlaps.suffice(500) && added.load(ordering: .relaxed) > 5_000 }) { thread, _ in
      if thread == 0 {
        event.addHandler { _ in }.store(in: bag)
        added.wrappingAdd(1, ordering: .relaxed)
      } else {
        removed.wrappingAdd(overlaps.during { bag.removeAll() }, ordering: .relaxed)
      }
    }
    removed.wrappingAdd(bag.removeAll(), ordering: .relaxed)
    #expect(removed.load(ordering: .relaxed) == added.load(ordering: .relaxed))
    #expect(event.handlerCount == 0)
    #expect(overlaps.count > 50)
  }

  @Test func aBagCountsTheHandlersThatHaveNotEnded() {
    final class Owner: Sendable {}
    let (event, bag) = (Event<Int>(), HandlerBag())
    var owner: Owner? = Owner()
    #expect(bag.count == 0)
    event.addHandler { _ in }.store(in: bag)
    let token = event.addHandler { _ in }
    token.store(in: bag)
    if let owner { event.addHandler(owner: owner) { _, _ in }.store(in: bag) }
    event.once { _ in }.store(in: bag)
    #expect(bag.count == 4)
    event.remove(token)
    event.post(1)
    owner = nil
    #expect(bag.count == 1)
    bag.removeAll()
    #expect(bag.count == 0)
  }
}
