import Eventing
import Testing

/// Tests of locks that hold occurrences (G9).
@Suite(.fewAtATime) struct HoldingTests {
  @Test func theFirstAreHeldAndComeBeforeAnythingNewer() async {
    let (event, seen) = (Event<Int>(), Recorder<String>())
    let token = event.occurrences.addHandler { seen.record("\($0.sequence): \($0.payload)") }
    #expect(event.lock(token, holding: .oldest(3)))
    var reports: [SendReport] = []
    for number in 1...5 { reports.append(await event.send(number * 10)) }
    #expect(reports.map(\.held) == [1, 1, 1, 0, 0])
    #expect(reports.map(\.skipped) == [0, 0, 0, 1, 1])
    #expect(seen.values == [] && reports[0].reachedNobody == false)
    let held = await event.handlers()[0]
    #expect(held.heldCount == 3 && held.skippedCount == 2 && held.callCount == 0 && held.isLocked)
    #expect(event.unlock(token) && !event.isLocked(token))
    event.post(60)
    await event.quiesce()  // a thread that has called the handlers may still be inside the event
    #expect(seen.values == ["1: 10", "2: 20", "3: 30", "6: 60"])
    let free = await event.handlers()[0]
    #expect(free.heldCount == 0 && free.skippedCount == 2 && free.callCount == 4 && !free.isLocked)
  }

  @Test func nothingIsHeld() async {
    let (event, seen) = (Event<Int>(), Recorder<Int>())
    let token = event.addHandler { seen.record($0) }
    event.lock(token, holding: nil)
    #expect(await event.send(1).skipped == 1)
    event.unlock(token)
    #expect(seen.values == [])
  }

  @Test(arguments: [
    (Buffering.unbounded, [1, 2, 3, 4, 5]), (.oldest(2), [1, 2]), (.oldest(0), [1]), (.oldest(-7), [1]),
    (.newest(2), [4, 5]), (.newest(9), [1, 2, 3, 4, 5]), (.latest, [5]), (.suspendingSender(2), [1, 2]),
  ]) func theLockHoldsWhatABufferWouldKeep(holding: Buffering, held: [Int]) async {
    let (event, seen) = (Event<Int>(), Recorder<Int>())
    let token = event.addHandler { seen.record($0) }
    event.lock(token, holding: holding)
    for number in 1...5 { await event.send(number) }
    let locked = await event.handlers()[0]
    #expect(locked.heldCount == held.count && locked.skippedCount == 5 - held.count)
    event.unlock(token)
    event.post(6)
    await event.quiesce()
    #expect(seen.values == held + [6])
  }

  @Test func newestReplacesOnlyWhatItHolds() async {
    let (event, seen) = (Event<Int>(), Recorder<Int>())
    let token = event.addHandler { seen.record($0) }
    event.lock(token, holding: .oldest(1))
    for number in 1...2 { event.post(number) }
    event.lock(token, holding: .newest(2))
    for number in 3...6 { event.post(number) }
    event.lock(token, holding: .newest(1))
    for number in 7...8 { event.post(number) }
    #expect(await event.handlers()[0].heldCount == 4)
    event.unlock(token)
    await event.quiesce()
    #expect(seen.values == [1, 5, 6, 8])
  }

  @Test func theLatestIsHeldAndTheOneBeforeIsSkipped() async {
    let (event, seen) = (Event<Int>(), Recorder<Int>())
    let token = event.addHandler { seen.record($0) }
    event.lock(token, holding: .latest)
    for number in 1...4 { #expect(await event.send(number).held == 1) }
    #expect(await event.handlers().map(\.skippedCount) == [3])
    event.unlock(token)
    await event.quiesce()
    #expect(seen.values == [4])
  }

  @Test func theLastHoldingWinsAndHeldOccurrencesStay() async {
    let (event, seen) = (Event<Int>(), Recorder<Int>())
    let token = event.addHandler { seen.record($0) }
    event.lock(token, holding: .oldest(2))
    for number in 1...3 { event.post(number) }
    event.lock(token, holding: .latest)
    for number in 4...6 { event.post(number) }
    event.lock(token)
    event.post(7)
    event.lock(token, holding: .oldest(4))
    for number in 8...9 { event.post(number) }
    event.unlock(token)
    #expect(seen.values == [1, 2, 6, 8])
    event.lock(token)
    event.post(10)
    event.unlock(token)
    event.post(11)
    #expect(seen.values == [1, 2, 6, 8, 11])
  }

  @Test func aLockMadeDuringTheReleaseKeepsTheRest() {
    let (event, seen) = (Event<Int>(), Recorder<Int>())
    let token = ConditionLock<HandlerToken?>(nil)
    let bar = event.addHandler { [weak event] number in
      seen.record(number)
      if number == 2, let own = token.withLock({ $0 }) { event?.lock(own) }
    }
    token.withLock { $0 = bar }
    event.lock(bar, holding: .oldest(9))
    for number in 1...4 { event.post(number) }
    event.unlock(bar)
    event.post(5)
    #expect(seen.values == [1, 2])
    event.unlock(bar)
    event.post(6)
    #expect(seen.values == [1, 2, 3, 4, 6])  // the second lock held nothing, so 5 was skipped
  }

  @Test func anUnlockInAHandlerHasItsTurnAsAPostHas() {
    let (event, seen) = (Event<Int>(), Recorder<Int>())
    let bar = event.addHandler { seen.record($0) }
    event.addHandler { [weak event] number in
      guard number == 3, let event else { return }
      event.post(4)  // posted before the unlock, so 4 is held
      event.unlock(bar)
      #expect(!event.isLocked(bar))
      event.post(5)
    }
    event.lock(bar, holding: .oldest(9))
    for number in 1...3 { event.post(number) }
    #expect(seen.values == [1, 2, 3, 4, 5])
  }

  @Test func locksAreIndependent() async {
    let (event, seen) = (Event<Int>(), Recorder<Int>())
    let bar = event.addHandler { seen.record($0) }
    await event.withLocked(bar, holding: .oldest(9)) {
      event.post(1)
      event.lock(bar)  // the last lock decides what is held, and this one holds nothing
      event.post(2)
      event.unlock(bar)
      #expect(event.isLocked(bar))
      event.post(3)
      await event.withLocked(bar, holding: .latest) { for number in 4...5 { event.post(number) } }
      event.post(6)
      event.lock(holding: .oldest(9))
    }
    event.post(7)
    #expect(!event.isLocked(bar) && event.isLocked && seen.values == [])
    event.unlock()
    #expect(seen.values == [1, 3, 5, 6, 7])
    #expect(await event.handlers().map(\.heldCount) == [0])
  }

  @Test func theEventLockHoldsForHandlersAddedLater() async {
    let (event, seen) = (Event<Int>(), Recorder<String>())
    event.addHandler { seen.record("a \($0)") }
    event.lock(holding: .latest)
    event.post(1)
    event.addHandler { seen.record("b \($0)") }
    event.addHandler(.named("c"), on: .background) { seen.record("c \($0)") }
    #expect(await event.send(2).held == 3)
    event.unlock()
    await event.quiesce()
    #expect(seen.values.sorted() == ["a 2", "b 2", "c 2"])
  }

  @Test func bulkVerbsHold() async {
    let (event, seen, owner) = (Event<Int>(), Recorder<String>(), Owner(LiveCount()))
    event.addHandler(.named("name")) { seen.record("name \($0)") }
    event.addHandler(.tagged("tag")) { seen.record("tag \($0)") }
    event.addHandler(owner: owner) { _, number in seen.record("owner \(number)") }
    #expect(
      event.lockAll(where: .named("name"), holding: .latest) == 1
        && event.lockAll(where: .tagged("tag"), holding: .oldest(1)) == 1)
    #expect(event.lockAll(where: .ownedBy(owner), holding: .latest) == 1)
    event.post(1)
    #expect(event.lockAll(holding: .oldest(2)) == 3)
    event.post(2)
    #expect(event.unlockAll(where: .named("name", "other")) == 1)
    #expect(seen.values == ["name 1", "name 2"])
    #expect(event.unlockAll() == 3)
    #expect(seen.values == ["name 1", "name 2", "tag 1", "owner 1", "tag 2", "owner 2"])
  }

  @Test func aOnceHandlerReceivesTheFirstHeldOccurrence() async {
    let (live, seen) = (LiveCount(), Recorder<Int>())
    let event = Event<(Int, Canary)>()
    let token = event.once { number, _ in seen.record(number) }
    event.lock(token, holding: .oldest(9))
    for number in 1...3 { event.post((number, Canary(live))) }
    #expect(live.alive == 3)
    event.unlock(token)
    #expect(seen.values == [1] && live.alive == 0 && event.handlerCount == 0)
  }

  @Test func heldOccurrencesEndWithTheirHandler() async {
    let live = LiveCount()
    let event = Event<Canary>()
    let tokens = [
      event.addHandler { _ in }, event.addHandler(on: .background) { _ in }, event.addHandler(on: .task) { _ async in },
    ]
    event.lockAll(where: .oneOf(tokens), holding: .oldest(9))
    // The payload's `deinit` posts, so the payload must be released under no mutex.
    event.post(Canary(live, onDeinit: { [weak event] in event?.post(Canary(live)) }))
    #expect(live.alive == 1)
    #expect(event.removeAll(where: .oneOf(tokens)) == 3)
    #expect(live.alive == 0 && event.unlockAll(where: .oneOf(tokens)) == 0)
  }

  @Test func heldOccurrencesEndWithTheirEventAndWithTheOwner() async {
    let live = LiveCount()
    var (event, owner): (Event<Canary>?, Owner?) = (Event(), Owner(LiveCount()))
    event?.addHandler { _ in }
    event?.addHandler(on: .background) { _ in }
    if let owner { event?.addHandler(owner: owner) { _, _ in } }
    event?.lockAll(holding: .oldest(9))
    event?.post(Canary(live))
    owner = nil
    event?.unlockAll()
    await event?.send(Canary(live))  // a send releases the handlers of released owners
    await event?.quiesce()
    #expect(await eventually { live.alive == 0 })
    event?.lock(holding: .latest)
    event?.post(Canary(live))
    #expect(live.alive == 1)
    event = nil
    #expect(await eventually { live.alive == 0 })
  }

  @Test func heldOccurrencesAreForwardedOnceAndEndCycles() async {
    let (a, b, seen) = (Event<Int>("a"), Event<Int>("b"), Recorder<String>())
    let forward = a.forward(to: b)
    let back = b.forward(to: a)
    a.addHandler { seen.record("a \($0)") }
    b.addHandler { seen.record("b \($0)") }
    a.lock(forward, holding: .oldest(9))
    b.lock(back, holding: .oldest(9))
    a.post(1)
    a.unlock(forward)
    b.unlock(back)
    #expect(seen.values == ["a 1", "b 1"])
    let (even, other) = (Event<Int>(), Recorder<Int>())
    even.addHandler { other.record($0) }
    let transform = a.compactMap { $0 % 2 == 0 ? $0 : nil }.forward(to: even)
    a.lock(transform, holding: .oldest(9))
    for number in 1...4 { a.post(number) }
    a.unlock(transform)
    #expect(other.values == [2, 4])
  }

  @Test func theSenderAndItsContextAreKept() async {
    let carrying = EventContext.propagate(HoldingTests.$request)
    defer { carrying.end() }
    let (event, seen, sender) = (Event<Int>(), Recorder<String>(), Owner(LiveCount()))
    event.occurrences.addHandler { seen.record("\($0.sender === sender) \(HoldingTests.request)") }
    event.addHandler(on: .background) { _ in seen.record("lane \(HoldingTests.request)") }
    event.lock(holding: .latest)
    HoldingTests.$request.withValue("r") { event.post(1, from: sender) }
    event.unlock()
    await event.quiesce()
    #expect(seen.values == ["true r", "lane r"])
  }
  @TaskLocal static var request = "none"

  @Test func keyedEventsAndObservedValuesHold() async {
    let (keyed, seen) = (KeyedEvent<String, Int>(), Recorder<String>())
    let one = keyed["a"].addHandler { seen.record("a \($0)") }
    keyed.anyKey.addHandler { key, number in seen.record("\(key) \(number)!") }
    keyed.lock(one, holding: .oldest(9))
    keyed.post(1, to: "a")
    keyed.post(2, to: "b")
    keyed.lock(holding: .latest)
    keyed.unlock(one)
    keyed.post(3, to: "a")
    #expect(seen.values == ["a 1!", "b 2!"])
    #expect(await keyed.handlers(where: .key("a", of: keyed)).map(\.heldCount) == [2])
    keyed.unlock()
    await keyed.quiesce()
    #expect(Set(seen.values) == ["a 1!", "b 2!", "a 1", "a 3", "a 3!"])

    let (volume, changes) = (Observed(0.5), Recorder<Double>())
    let token = volume.changes().addHandler { changes.record($0.new) }
    volume.lock(token, holding: .latest)
    for value in [0.1, 0.2, 0.3] { volume.value = value }
    volume.unlock(token)
    #expect(changes.values == [0.3])
  }

  @Test func replayedPayloadsAreHeldForANewHandler() {
    let (event, seen) = (Event<Int>(replaying: .last(2)), Recorder<Int>())
    for number in 1...3 { event.post(number) }
    event.lock(holding: .oldest(9))
    event.addHandler { seen.record($0) }
    event.post(4)
    #expect(seen.values == [])
    event.unlock()
    event.post(5)
    #expect(seen.values == [2, 3, 4, 5])
  }

  @Test func sequencesAreHeld() async {
    let event = Event<Int>()
    let payloads = event.payloads()
    event.lock(holding: .oldest(2))
    for number in 1...3 { event.post(number) }
    event.unlock()
    event.post(4)
    event.finish()
    var seen: [Int] = []
    for await number in payloads { seen.append(number) }
    #expect(seen == [1, 2, 4])
  }
}
