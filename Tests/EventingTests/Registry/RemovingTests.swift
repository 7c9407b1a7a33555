import Dispatch
import Eventing
import Synchronization
import Testing

/// Tests of guarantee G7: removing is effective on return.
@Suite(.fewAtATime) struct RemovingTests {
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
    let later = ConditionLock<HandlerToken?>(nil)
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
    let tokens = ConditionLock<[HandlerToken]>([])
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
    let own = ConditionLock<HandlerToken?>(nil)
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

  @Test func aPostOfAHandlerBeforeItRemovesAnotherDoesNotReachTheRemovedOne() {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    let later = ConditionLock<HandlerToken?>(nil)
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
      event.addHandler(.named("x")) { value in
        canary.sing()
        seen.record(value)
      }
      #expect(event.contains(where: .named("x")))
      #expect(event.removeAll(where: .named("x")) == 1)
      #expect(!event.contains(where: .named("x")))
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
    let own = ConditionLock<HandlerToken?>(nil)
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

  @Test func noCallOfAHandlerRunsAfterItsRemovalOnItsOwnSerialQueue() async {
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
      await event.send(0)  // a send, so that the first call is made now: a post might be enqueued and delivered later
      await onThreads(1) { _ in
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

  @Test func noCallOfAHandlerRunsAfterItsRemovalOnItsOwnActor() async {
    let event = Event<Int>()
    let listener = Listener()
    for _ in 0..<50 {
      let isRemoved = Gate()
      await listener.listen(to: event)
      // The handler is removed after its first call, while a thread posts.
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
    await onThreads(3, until: { overlaps.suffice(1_000) && found.count > 2_000 }) { thread, round in
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

  @Test func exactlyOneOfTheThreadsThatRemoveAHandlerGetsTrue() async {
    let event = Event<Int>()
    let overlaps = Overlaps()
    let added = Atomic<Int>(0)
    let removed = Atomic<Int>(0)
    await inRounds(2, until: { overlaps.count > 40 }) {
      added.wrappingAdd(50, ordering: .relaxed)
      return (0..<50).map { _ in event.addHandler { _ in } }
    } _: { _, tokens in
      for token in tokens where overlaps.during({ event.remove(token) }) { removed.wrappingAdd(1, ordering: .relaxed) }
    }
    #expect(removed.load(ordering: .relaxed) == added.load(ordering: .relaxed))
    #expect(event.handlerCount == 0)
    #expect(overlaps.count > 10)
  }

  @Test func removingByNameTagOrOwnerEndsAllMatchesAndReturnsTheirNumber() {
    let event = Event<Int>()
    let seen = Recorder<String>()
    let owner = Owned()
    event.addHandler(.named("a")) { _ in seen.record("a1") }
    event.addHandler(.named("a"), .priority(2)) { _ in seen.record("a2") }
    event.addHandler(.named("b")) { _ in seen.record("b") }
    event.add(
      Handler(.tagged("io", "disk")) { _ in seen.record("tagged") },
      Handler(.tagged("net")) { _ in seen.record("other") })
    event.addHandler(owner: owner) { _, _ in seen.record("owned") }
    event.addHandler { _ in seen.record("plain") }
    #expect(event.removeAll(where: .named("a")) == 2)
    #expect(event.removeAll(where: .named("a")) == 0)
    #expect(event.removeAll(where: .tagged("disk")) == 1)
    #expect(event.removeAll(where: .ownedBy(owner)) == 1)
    event.post(1)
    #expect(seen.values == ["b", "other", "plain"])
    #expect(event.removeAll(where: .named("b", "c")) == 1)
    #expect(event.removeAll() == 2)
    #expect(event.removeAll() == 0)
    event.post(2)
    #expect(seen.count == 3)
    withExtendedLifetime(owner) {}
  }

  @Test func removingAllInAHandlerStopsTheLaterHandlersOfTheOccurrence() {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    event.addHandler { [weak event] _ in
      seen.record(1)
      #expect(event?.removeAll() == 3)
    }
    event.addHandler { _ in seen.record(2) }
    event.addHandler(.priority(-1)) { _ in seen.record(3) }
    event.post(1)
    event.post(2)
    #expect(seen.values == [1])
  }
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

private final class Removal: Sendable {
  let hasReturned = Atomic<Bool>(false)
  let late = Atomic<Int>(0)

  func see() {
    if hasReturned.load(ordering: .sequentiallyConsistent) { late.wrappingAdd(1, ordering: .relaxed) }
  }
}

/// State that is accessed on one serial queue only.
private final class QueueBound: @unchecked Sendable {
  var isRemoved = false
  var calls = 0
}
