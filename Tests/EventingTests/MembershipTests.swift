import Dispatch
import Eventing
import Synchronization
import Testing

/// G3, G6 and G7: which handlers an occurrence reaches, and in which order.
@Suite(.timeLimit(.minutes(1))) struct MembershipTests {
  // MARK: G3

  @Test(arguments: [10, 40, 1_000]) func handlersOfOnePriorityRunInTheOrderInWhichTheyWereAdded(count: Int) {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    for number in 0..<count { event.addHandler { _ in seen.record(number) } }
    event.post(1)
    #expect(seen.values == Array(0..<count))
  }

  @Test(arguments: [10, 40, 1_000]) func handlersRunByDescendingPriorityThenInTheOrderInWhichTheyWereAdded(count: Int) {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    var random = SeededGenerator.fresh("priorities")
    let priorities = (0..<count).map { _ in Int.random(in: -3...3, using: &random) }
    for (number, priority) in priorities.enumerated() { event.addHandler(priority: priority) { _ in seen.record(number) } }
    event.post(1)
    let expected = priorities.indices.sorted { (-priorities[$0], $0) < (-priorities[$1], $1) }
    #expect(seen.values == expected)
  }

  @Test(arguments: [10, 40, 1_000]) func theOrderOfTheOthersStaysWhenHandlersAreRemoved(count: Int) {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    let tokens = (0..<count).map { number in event.addHandler(priority: number % 3) { _ in seen.record(number) } }
    for number in stride(from: 0, to: count, by: 2) { event.remove(tokens[number]) }
    event.addHandler(priority: 1) { _ in seen.record(count) }
    event.post(1)
    var expected: [Int] = []
    for priority in [2, 1, 0] {
      expected += stride(from: 1, to: count, by: 2).filter { $0 % 3 == priority }
      if priority == 1 { expected.append(count) }
    }
    #expect(seen.values == expected)
  }

  @Test func handlersAddedWhileTheEventIsBusyKeepTheirOrder() async {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    await whileBusy(event) {
      for number in 0..<40 { event.addHandler(priority: number % 2) { _ in seen.record(number) } }
    }
    await event.send(1)
    #expect(seen.values == Array(stride(from: 1, to: 40, by: 2)) + Array(stride(from: 0, to: 40, by: 2)))
  }

  // MARK: G6

  @Test func anAddedHandlerIsReachedByTheNextSendAndByNoneBefore() {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    event.post(1)
    event.addHandler { seen.record($0) }
    event.post(2)
    #expect(seen.values == [2])
  }

  @Test func aHandlerAddedByAHandlerWaitsForTheNextOccurrence() {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    event.once { [weak event] _ in event?.addHandler { seen.record($0) } }
    event.post(1)
    #expect(seen.values == [])
    event.post(2)
    #expect(seen.values == [2])
  }

  @Test func aHandlerAddedByAHandlerIsReachedByWhatThatPostsNext() {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    event.once { [weak event] _ in
      event?.post(2)
      event?.addHandler { seen.record($0) }
      event?.post(3)
    }
    event.post(1)
    #expect(seen.values == [3])
  }

  @Test func addingToABusyEventIsInOrderWithThePostsAroundIt() async {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    await whileBusy(event) {
      event.post(2)
      event.addHandler { seen.record($0) }
      event.post(3)
    }
    await event.quiesce()
    #expect(seen.values == [3])
  }

  @Test func everyOccurrenceSentAfterAddingReachesTheHandlerAndNoneSentBeforeUnderRacingPosters() async {
    let event = Event<Int>()
    let begun = Atomic<Int>(0)
    let returned = Atomic<Int>(0)
    let adders = [Recorder<Membership>(), Recorder<Membership>()]
    let windows = [MembershipWindow(), MembershipWindow()]
    let overlaps = Overlaps()
    await onThreads(3, until: { overlaps.count > 500 && adders.allSatisfy { $0.count > 200 } }) { thread, round in
      if thread == 2 {
        begun.store(round + 1, ordering: .sequentiallyConsistent)
        overlaps.during { event.post(round + 1) }
        returned.store(round + 1, ordering: .sequentiallyConsistent)
        return
      }
      let new = Membership()
      new.returnedBefore = returned.load(ordering: .sequentiallyConsistent)
      let token = overlaps.during { event.addHandler { new.see($0) } }
      new.begunAfter = begun.load(ordering: .sequentiallyConsistent)
      for _ in 0..<1_000 where new.first == 0 { giveWay() }
      let window = windows[thread]
      window.members.append((token, new))
      guard window.members.count > 4 else { return }
      let (oldest, its) = window.members.removeFirst()
      overlaps.during { _ = event.remove(oldest) }
      its.begunAfterRemoval = begun.load(ordering: .sequentiallyConsistent)
      adders[thread].record(its)
    }
    await event.quiesce()
    let all = adders.flatMap(\.values)
    #expect(all.count { !$0.isContiguous } == 0, "a handler missed an occurrence in the middle")
    #expect(all.count { $0.first != 0 && $0.first <= $0.returnedBefore } == 0, "reached by what was sent before it was added")
    #expect(
      all.count { $0.first > $0.begunAfter + 1 } == 0,
      "not reached by what was sent after it was added")
    #expect(all.count { $0.last > $0.begunAfterRemoval } == 0, "reached by what was sent after it was removed")
    #expect(all.count { $0.first != 0 } > 10)
    #expect(overlaps.count > 50)
  }

  @Test func whatAThreadSendsAfterItAddedAHandlerReachesThatUnderRacingPosters() async {
    let event = Event<Int>()
    let missed = Atomic<Int>(0)
    let early = Atomic<Int>(0)
    let overlaps = Overlaps()
    await onThreads(3, until: { overlaps.count > 1_000 }) { thread, round in
      let own = Atomic<Int>(0)
      let (before, after) = (-3 * round - thread, 3 * round + thread + 1)
      overlaps.during { event.post(before) }
      let token = overlaps.during {
        event.addHandler { number in
          if number == before { early.wrappingAdd(1, ordering: .relaxed) }
          if number == after { own.wrappingAdd(1, ordering: .relaxed) }
        }
      }
      overlaps.during { event.post(after) }
      let deadline = ContinuousClock.now.advanced(by: .seconds(5))
      while own.load(ordering: .relaxed) == 0, ContinuousClock.now < deadline { giveWay() }
      if own.load(ordering: .relaxed) != 1 { missed.wrappingAdd(1, ordering: .relaxed) }
      event.remove(token)
    }
    #expect(missed.load(ordering: .relaxed) == 0)
    #expect(early.load(ordering: .relaxed) == 0)
    #expect(overlaps.count > 100)
  }

  @Test func everyOccurrenceReachesAGroupWholeOrNotAtAllUnderRacingPosters() async {
    let event = Event<Int>()
    let torn = Atomic<Int>(0)
    let overlaps = Overlaps()
    await onThreads(2, until: { overlaps.count > 200 }) { thread, round in
      guard thread == 0 else { return overlaps.during { event.post(round + 1) } }
      let group = (0..<3).map { _ in FirstSeen() }
      let tokens = overlaps.during { event.add(group.map { member in Handler { member.see($0) } }) }
      event.post(.max)  // for the case that nobody else posts
      for _ in 0..<100_000 where group[2].number == 0 { giveWay() }  // the last one saw its first occurrence, and so all did
      if group[0].number != group[2].number || group[1].number != group[2].number { torn.wrappingAdd(1, ordering: .relaxed) }
      event.remove(tokens)
    }
    #expect(torn.load(ordering: .relaxed) == 0)
    #expect(overlaps.count > 20)
  }

  // MARK: G7

  @Test func aRemovedHandlerIsNotReachedByTheNextSend() async {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    let token = event.addHandler { seen.record($0) }
    event.post(1)
    #expect(event.remove(token))
    #expect(await event.send(2).delivered == 0)
    #expect(seen.values == [1])
  }

  @Test func aHandlerRemovedByAnEarlierOneOfTheSameOccurrenceIsNeitherCalledNorCounted() async {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    let later = Guarded<HandlerToken?>(nil)
    event.addHandler { [weak event] _ in if let later = later.withLock({ $0 }) { event?.remove(later) } }
    later.withLock { $0 = event.addHandler { seen.record($0) } }
    event.addHandler { _ in }
    let report = await event.send(1)
    #expect(seen.values == [])
    #expect(report.delivered == 2)
    #expect(report.skipped == 0)
  }

  @Test func ofTwoHandlersThatRemoveEachOtherOnlyTheFirstIsCalled() {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    let tokens = Guarded<[HandlerToken]>([])
    for number in 0..<2 {
      let token = event.addHandler { [weak event] _ in
        seen.record(number)
        event?.remove(tokens.withLock { $0[1 - number] })
      }
      tokens.withLock { $0.append(token) }
    }
    event.post(1)
    event.post(2)
    #expect(seen.values == [0, 0])
  }

  @Test func aHandlerThatRemovesItselfEndsItsCallAndIsNotCalledAgain() {
    let event = Event<Int>()
    let seen = Recorder<String>()
    let own = Guarded<HandlerToken?>(nil)
    own.withLock {
      $0 = event.addHandler { [weak event] value in
        seen.record("begins \(value)")
        if let token = own.withLock({ $0 }) { event?.remove(token) }
        seen.record("ends \(value)")
      }
    }
    event.post(1)
    event.post(2)
    #expect(seen.values == ["begins 1", "ends 1"])
  }

  @Test func whatAHandlerPostedBeforeItRemovedAnotherDoesNotReachThat() {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    let later = Guarded<HandlerToken?>(nil)
    event.once { [weak event] _ in
      event?.post(2)
      if let token = later.withLock({ $0 }) { event?.remove(token) }
    }
    later.withLock { $0 = event.addHandler { seen.record($0) } }
    event.post(1)
    #expect(seen.values == [])
  }

  @Test func aHandlerRemovedWhileOccurrencesAreQueuedIsReachedByNoneOfThem() async {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    let token = event.addHandler { seen.record($0) }
    let ticket = await whileBusy(event) {
      event.post(1)
      let ticket = event.submit(2)
      event.remove(token)
      return ticket
    }
    #expect(await ticket.report.delivered == 0)
    #expect(seen.values == [])
  }

  @Test func aHandlerRemovedWhileItsAddIsQueuedIsNeverCalledAndItsClosureIsReleasedOnce() async {
    let event = Event<Int>()
    let live = LiveCount()
    let seen = Recorder<Int>()
    await whileBusy(event) {
      let canary = Canary(live)
      event.addHandler(named: "x") { value in
        canary.sing()
        seen.record(value)
      }
      #expect(event.contains(named: "x"))
      #expect(event.remove(named: "x") == 1)
      #expect(!event.contains(named: "x"))
      event.post(1)
    }
    await event.quiesce()
    #expect(seen.values == [])
    #expect(live.alive == 0)
  }

  @Test func aDeliveryQueuedOnALaneIsSkippedWhenItsHandlerIsRemoved() async {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    let queue = DispatchQueue(label: "test")
    let token = event.addHandler(on: .queue(queue)) { seen.record($0) }
    queue.suspend()
    let tickets = [event.submit(1), event.submit(2)]
    #expect(event.remove(token))
    queue.resume()
    for ticket in tickets {
      #expect(await ticket.report.skipped == 1)
      #expect(await ticket.report.delivered == 0)
    }
    #expect(seen.values == [])
  }

  @Test func aHandlerThatRemovesItselfOnItsLaneIsNotCalledForWhatIsQueuedThere() async {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    let queue = DispatchQueue(label: "test")
    let own = Guarded<HandlerToken?>(nil)
    own.withLock {
      $0 = event.addHandler(on: .queue(queue)) { [weak event] value in
        seen.record(value)
        if let token = own.withLock({ $0 }) { event?.remove(token) }
      }
    }
    queue.suspend()
    for value in 1...10 { event.post(value) }
    queue.resume()
    await event.quiesce()
    #expect(seen.values == [1])
  }

  @Test func removedOnItsOwnSerialQueueNothingOfAHandlerRunsAfterwards() async {
    let event = Event<Int>()
    let queue = DispatchQueue(label: "test")
    let late = Atomic<Int>(0)
    for _ in 0..<50 {
      let state = QueueBound()
      let isRemoved = Gate()
      let token = event.addHandler(on: .queue(queue)) { _ in
        if state.isRemoved { late.wrappingAdd(1, ordering: .relaxed) }
        state.calls += 1
      }
      // It is removed while others post, and after its first call.
      await onThreads(1) { _ in
        event.post(0)
        queue.async {
          event.remove(token)
          state.isRemoved = true
          isRemoved.open()
        }
        while !isRemoved.isOpen { event.post(1) }
        for _ in 0..<10 { event.post(2) }
      }
      await event.quiesce()
      #expect(queue.sync { state.calls } > 0)
    }
    #expect(late.load(ordering: .relaxed) == 0)
  }

  @Test func removedOnItsOwnActorNothingOfAHandlerRunsAfterwards() async {
    let event = Event<Int>()
    let listener = Listener()
    for _ in 0..<50 {
      let isRemoved = Gate()
      await listener.listen(to: event)
      // It is removed while others post, and after its first call.
      let posted = startThread {
        while !isRemoved.isOpen { event.post(1) }
        for _ in 0..<10 { event.post(2) }
      }
      while await listener.calls == 0, !Task.isCancelled { await Task.yield() }
      await listener.stopListening(to: event)
      isRemoved.open()
      await posted.opened()
      await event.quiesce()
    }
    #expect(await listener.late == 0)
  }

  @Test func atMostOneCallOfAHandlerBeginsAfterItsRemovalReturned() async {
    let event = Event<Int>()
    let found = Recorder<Removal>()
    let overlaps = Overlaps()
    await onThreads(3, until: { overlaps.count > 1_000 && found.count > 2_000 }) { thread, round in
      guard thread == 0 else { return overlaps.during { event.post(round) } }
      let removal = Removal()
      let token = event.addHandler { _ in removal.see() }
      event.post(0)
      overlaps.during { _ = event.remove(token) }
      removal.hasReturned.store(true, ordering: .sequentiallyConsistent)
      found.record(removal)
    }
    await event.quiesce()
    #expect(found.values.count { $0.late.load(ordering: .relaxed) > 1 } == 0)
    #expect(overlaps.count > 100)
  }

  @Test func exactlyOneOfTheThreadsThatRemoveAHandlerIsToldThatItDid() async {
    let event = Event<Int>()
    let overlaps = Overlaps()
    let added = Atomic<Int>(0)
    let removed = Atomic<Int>(0)
    await inRounds(2, until: { overlaps.count > 100 }) {
      added.wrappingAdd(50, ordering: .relaxed)
      return (0..<50).map { _ in event.addHandler { _ in } }
    } _: { _, tokens in
      for token in tokens where overlaps.during({ event.remove(token) }) { removed.wrappingAdd(1, ordering: .relaxed) }
    }
    #expect(removed.load(ordering: .relaxed) == added.load(ordering: .relaxed))
    #expect(event.handlerCount == 0)
    #expect(overlaps.count > 10)
  }

  @Test func removingByNameTagOrOwnerEndsAllThatMatchAndSaysHowMany() {
    let event = Event<Int>()
    let seen = Recorder<String>()
    let owner = Owned()
    event.addHandler(named: "a") { _ in seen.record("a1") }
    event.addHandler(named: "a", priority: 2) { _ in seen.record("a2") }
    event.addHandler(named: "b") { _ in seen.record("b") }
    event.add(Handler { _ in seen.record("tagged") }.tagged("io", "disk"), Handler { _ in seen.record("other") }.tagged("net"))
    event.addHandler(owner: owner) { _, _ in seen.record("owned") }
    event.addHandler { _ in seen.record("plain") }
    #expect(event.remove(named: "a") == 2)
    #expect(event.remove(named: "a") == 0)
    #expect(event.remove(tagged: "disk") == 1)
    #expect(event.remove(ownedBy: owner) == 1)
    event.post(1)
    #expect(seen.values == ["b", "other", "plain"])
    #expect(event.remove(named: ["b", "c"]) == 1)
    #expect(event.removeAll() == 2)
    #expect(event.removeAll() == 0)
    event.post(2)
    #expect(seen.count == 3)
    withExtendedLifetime(owner) {}
  }

  @Test func removingAllByAHandlerSilencesTheLaterOnesOfTheSameOccurrence() {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    event.addHandler { [weak event] _ in
      seen.record(1)
      #expect(event?.removeAll() == 3)
    }
    event.addHandler { _ in seen.record(2) }
    event.addHandler(priority: -1) { _ in seen.record(3) }
    event.post(1)
    event.post(2)
    #expect(seen.values == [1])
  }

  @Test func quiesceWaitsForAnInlineCallThatWasRunningWhenItsHandlerWasRemoved() async {
    let event = Event<Int>()
    let seen = Recorder<String>()
    let (isInside, mayLeave) = (Gate(), Gate())
    let token = event.addHandler { _ in
      isInside.open()
      mayLeave.wait()
      seen.record("call ended")
    }
    let poster = startThread { event.post(1) }
    await isInside.opened()
    #expect(event.remove(token))
    await quiesceRecording(event, seen, whileHeldBy: mayLeave)
    #expect(seen.values == ["call ended", "quiesced"])
    await poster.opened()
  }

  @Test func quiesceWaitsForACallOnALaneThatWasRunningWhenItsHandlerWasRemoved() async {
    let event = Event<Int>()
    let seen = Recorder<String>()
    let (isInside, mayLeave) = (Gate(), Gate())
    let token = event.addHandler(on: .background) { _ in
      isInside.open()
      mayLeave.wait()
      seen.record("call ended")
    }
    event.post(1)
    await isInside.opened()
    #expect(event.remove(token))
    await quiesceRecording(event, seen, whileHeldBy: mayLeave)
    #expect(seen.values == ["call ended", "quiesced"])
  }

  private func quiesceRecording(_ event: Event<Int>, _ seen: Recorder<String>, whileHeldBy gate: Gate) async {
    await withTaskGroup { group in
      group.addTask {
        await event.quiesce()
        seen.record("quiesced")
      }
      // Time for a quiesce that does not wait to show it.
      for _ in 0..<200 { await Task.yield() }
      gate.open()
    }
  }
}

/// Runs `body` while a handler of the event is running, and so the event is busy.
private func whileBusy<Result: Sendable>(_ event: Event<Int>, _ body: () -> Result) async -> Result {
  let (isInside, mayLeave) = (Gate(), Gate())
  event.once(priority: .max) { _ in
    isInside.open()
    mayLeave.wait()
  }
  let poster = startThread { event.post(0) }
  await isInside.opened()
  let result = body()
  mayLeave.open()
  await poster.opened()
  return result
}

private final class Owned: Sendable {}

private actor Listener {
  private(set) var calls = 0
  private(set) var late = 0
  private var token: HandlerToken?

  func listen(to event: Event<Int>) {
    calls = 0
    token = event.addHandler(isolatedTo: self) { listener, _ in
      listener.calls += 1
      if listener.token == nil { listener.late += 1 }
    }
  }

  func stopListening(to event: Event<Int>) {
    if let token { event.remove(token) }
    token = nil
  }
}

/// What a handler saw, and when it was a handler. The variables are written by one thread, and read when all have ended.
private final class Membership: @unchecked Sendable {
  private let firstSeen = Atomic<Int>(0)
  private let lastSeen = Atomic<Int>(0)
  private let calls = Atomic<Int>(0)
  var returnedBefore = 0
  var begunAfter = 0
  var begunAfterRemoval = 0

  func see(_ number: Int) {
    if first == 0 { firstSeen.store(number, ordering: .relaxed) }
    lastSeen.store(number, ordering: .relaxed)
    calls.wrappingAdd(1, ordering: .relaxed)
  }

  var first: Int { firstSeen.load(ordering: .relaxed) }
  var last: Int { lastSeen.load(ordering: .relaxed) }
  var count: Int { calls.load(ordering: .relaxed) }
  var isContiguous: Bool { first == 0 || count == last - first + 1 }
}

/// The handlers that one thread added and did not remove yet. For one thread.
private final class MembershipWindow: @unchecked Sendable {
  var members: [(HandlerToken, Membership)] = []
}

/// The first number that a handler saw.
private final class FirstSeen: Sendable {
  private let first = Atomic<Int>(0)
  var number: Int { first.load(ordering: .relaxed) }
  func see(_ number: Int) { _ = first.compareExchange(expected: 0, desired: number, ordering: .relaxed) }
}

private final class Removal: Sendable {
  let hasReturned = Atomic<Bool>(false)
  let late = Atomic<Int>(0)

  func see() {
    if hasReturned.load(ordering: .sequentiallyConsistent) { late.wrappingAdd(1, ordering: .relaxed) }
  }
}

/// Touched on one serial queue only.
private final class QueueBound: @unchecked Sendable {
  var isRemoved = false
  var calls = 0
}
