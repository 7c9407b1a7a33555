import Eventing
import Testing

extension SendCompletionTests {
  // MARK: Quiesce

  @Test(arguments: SerialKind.allCases) func quiesceReturnsAfterEarlierPosts(kind: SerialKind) async {
    let event = Event<Int>()
    let finished = Counter()
    add(kind, to: event) { _ in
      if !kind.isAsync { finished.add() }
    } later: { _ in
      await Task.yield()
      finished.add()
    }
    for number in 0..<300 { event.post(number) }
    await comesBack { await event.quiesce() }
    #expect(finished.value == 300)
  }

  @Test(arguments: [AsyncDelivery.concurrent(limit: 3), .task]) func quiesceReturnsAfterOverlappingCalls(
    delivery: AsyncDelivery
  ) async {
    let event = Event<Int>()
    let (gate, began, finished) = (Gate(), Countdown(2), Counter())
    event.addHandler(on: delivery) { _ in
      began.arrive()
      await gate.opened()
      await Task.yield()
      finished.add()
    }
    event.post(1)
    event.post(2)
    await began.opened()
    async let finishedAtReturn = {
      await event.quiesce()
      return finished.value
    }()
    #expect(finished.value == 0)
    gate.open()
    #expect(await finishedAtReturn == 2)
  }

  @Test(arguments: SerialKind.allCases) func quiesceWaitsForACallOfARemovedHandler(kind: SerialKind) async {
    let event = Event<Int>()
    let (began, gate, finished) = (Gate(), Gate(), Counter())
    let token = add(kind, to: event) { _ in
      began.open()
      if !kind.isAsync {
        gate.wait()
        finished.add()
      }
    } later: { _ in
      await gate.opened()
      finished.add()
    }
    event.post(1)
    await began.opened()
    #expect(event.remove(token))
    async let finishedAtReturn = {
      await event.quiesce()
      return finished.value
    }()
    gate.open()
    #expect(await finishedAtReturn == 1)
  }

  @Test(arguments: SerialKind.asynchronous) func quiesceInsideAHandlerDoesNotWaitForIt(kind: SerialKind) async {
    let event = Event<Int>()
    let returned = Recorder<Int>()
    add(kind, to: event) { _ in
    } later: { number in
      await event.quiesce()
      returned.record(number)
    }
    event.post(1)
    event.post(2)
    await comesBack { await event.send(3) }
    #expect(returned.values == [1, 2, 3])
  }

  @Test(arguments: [AsyncDelivery.concurrent(limit: 2), .task]) func quiesceInsideAnOverlappingHandlerDoesNotWaitForIt(
    delivery: AsyncDelivery
  ) async {
    let event = Event<Int>()
    let returned = Counter()
    event.addHandler(on: delivery) { _ in
      await event.quiesce()
      returned.add()
    }
    event.post(1)
    event.post(2)
    await comesBack { await event.send(3) }
    await comesBack { await event.quiesce() }
    #expect(returned.value == 3)
  }

  @Test func quiesceInsideAHandlerWaitsForTheOthers() async {
    let event = Event<Int>()
    let (gate, asked, finished) = (Gate(), Gate(), Recorder<String>())
    event.addHandler { _ in
      await gate.opened()
      finished.record("other")
    }
    event.addHandler { _ in
      asked.open()
      await event.quiesce()
      finished.record("quiesced")
    }
    event.post(1)
    await asked.opened()
    gate.open()
    await comesBack { await event.quiesce() }
    #expect(finished.values == ["other", "quiesced"])
  }

  @Test func quiesceInsideAHandlerDoesNotWaitForCallsThatWaitForThatHandler() async {
    let (first, second) = (Event<Int>(), Event<Int>())
    let quiesced = Counter()
    second.addHandler { number in
      if number == 1 { await first.send(1) }
    }
    first.addHandler { _ in
      await second.quiesce()
      quiesced.add()
    }
    await comesBack { await second.send(1) }
    #expect(quiesced.value == 1)
  }

  @Test func quiesceInsideAHandlerThatRemovedItselfDoesNotWaitForIt() async {
    let event = Event<Int>()
    let (token, returned) = (ConditionLock<HandlerToken?>(nil), Counter())
    let own = event.addHandler { _ in
      if let own = token.withLock({ $0 }) { event.remove(own) }
      await event.quiesce()
      returned.add()
    }
    token.withLock { $0 = own }
    await comesBack { await event.send(1) }
    #expect(returned.value == 1)
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
      // A `quiesce()` that did not wait would return during these yields.
      for _ in 0..<200 { await Task.yield() }
      gate.open()
    }
  }
}
