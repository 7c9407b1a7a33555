import Dispatch
import Eventing
import Testing

/// Tests of guarantees G13 and G15: a lane calls its handler in order, one call at a time, and a
/// slow handler delays only itself.
@Suite(.fewAtATime) struct LaneTests {
  // MARK: In order, one at a time

  @Test(arguments: SerialKind.allCases) func laneCallsInOrder(kind: SerialKind) async {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    add(kind, to: event) {
      seen.record($0)
    } later: { number in
      if number.isMultiple(of: 50) { await Task.yield() }
    }
    await startThread { for number in 0..<3_000 { event.post(number) } }.opened()
    await event.quiesce()
    #expect(seen.values == Array(0..<3_000))
  }

  @Test(arguments: SerialKind.allCases) func laneCallsOneAtATime(kind: SerialKind) async {
    let event = Event<Int>()
    let crowd = Crowd()
    let plain = UnsynchronizedCounter()
    add(kind, to: event) { _ in
      crowd.enter()
      plain.value += 1
      if !kind.isAsync { crowd.leave() }
    } later: { _ in
      await Task.yield()
      plain.value += 1
      crowd.leave()
    }
    await onThreads(4) { _ in for number in 0..<500 { event.post(number) } }
    await event.quiesce()
    #expect(crowd.peak == 1)
    #expect(plain.value == (kind.isAsync ? 4_000 : 2_000))
  }

  @Test(arguments: SerialKind.allCases) func laneKeepsTheOrderOfTheEventUnderRacingPosters(kind: SerialKind) async {
    let event = Event<Int>()
    let (inline, lane) = (Recorder<Int>(), Recorder<Int>())
    event.addHandler { inline.record($0) }
    add(kind, to: event) { lane.record($0) }
    await onThreads(4) { thread in for number in 0..<2_500 { event.post(thread * 2_500 + number) } }
    await event.quiesce()
    #expect(lane.count == 10_000)
    #expect(lane.values == inline.values)
  }

  @Test func handlersOnOneConcurrentQueueEachKeepTheirOrder() async {
    let event = Event<Int>()
    let queue = DispatchQueue(label: "concurrent", attributes: .concurrent)
    let recorders = (0..<4).map { _ in Recorder<Int>() }
    for recorder in recorders { event.addHandler(on: .queue(queue)) { recorder.record($0) } }
    await startThread { for number in 0..<2_000 { event.post(number) } }.opened()
    await event.quiesce()
    for recorder in recorders { #expect(recorder.values == Array(0..<2_000)) }
  }

  // MARK: Where handlers run

  @Test func handlerOnAQueueRunsOnThatQueue() async {
    let event = Event<Int>()
    let queue = DispatchQueue(label: "a queue of the test")
    let calls = Counter()
    event.addHandler(on: .queue(queue)) { _ in
      dispatchPrecondition(condition: .onQueue(queue))
      calls.add()
    }
    await event.send(1)
    #expect(calls.value == 1)
  }

  @Test func handlerIsolatedToAnActorRunsOnIt() async {
    let event = Event<Int>()
    let (stage, calls) = (Stage(), Counter())
    event.addHandler(isolatedTo: stage) { stage, _ in
      stage.preconditionIsolated()
      await Task.yield()
      stage.preconditionIsolated()
      calls.add()
    }
    await event.send(1)
    #expect(calls.value == 1)
  }

  @Test func handlersInTheBackgroundHaveAQueueEach() async {
    let event = Event<Int>()
    let together = StartBarrier(3)
    for _ in 0..<3 { event.addHandler(on: .background) { _ in together.arrive() } }
    #expect(await comesBack { await event.send(1) }?.delivered == 3)
  }

  // MARK: Overlapping

  @Test func concurrentHandlerOverlapsUpToItsLimitAndNoMore() async {
    let event = Event<Int>()
    let (executor, crowd, gate) = (StepExecutor(), Crowd(), Gate())
    executor.adding {
      event.addHandler(on: .concurrent(limit: 3)) { _ in
        crowd.enter()
        await gate.opened()
        crowd.leave()
      }
    }
    for number in 0..<10 { event.post(number) }
    await executor.run()
    #expect(crowd.now == 3)
    gate.open()
    while await executor.run() {}
    #expect(crowd.now == 0)
    #expect(crowd.peak == 3)
  }

  @Test(arguments: 1...4) func concurrentHandlerNeverExceedsItsLimitUnderRacingPosters(limit: Int) async {
    let event = Event<Int>()
    let (crowd, calls, isFull) = (Crowd(), Counter(), Gate())
    event.addHandler(on: .concurrent(limit: limit)) { _ in
      crowd.enter()
      if crowd.now >= limit { isFull.open() }
      await isFull.opened()
      await Task.yield()
      calls.add()
      crowd.leave()
    }
    await onThreads(4) { _ in for number in 0..<500 { event.post(number) } }
    await event.quiesce()
    #expect(calls.value == 2_000)
    #expect(crowd.peak == limit)
  }

  @Test func concurrentHandlerBeginsInOrder() async {
    let event = Event<Int>()
    let (executor, began) = (StepExecutor(), Recorder<Int>())
    let gates = (0..<8).map { _ in Gate() }
    executor.adding {
      event.addHandler(on: .concurrent(limit: 2)) { number in
        began.record(number)
        await gates[number].opened()
      }
    }
    for number in 0..<8 { event.post(number) }
    await executor.run()
    #expect(began.values == [0, 1])
    for number in [1, 2, 0, 4, 3, 6, 5, 7] {  // whichever call ends, the next one in order begins
      gates[number].open()
      await executor.run()
      #expect(began.values == Array(0..<began.count))
    }
    #expect(began.count == 8)
  }

  @Test(arguments: [0, -1, .min]) func limitBelowOneCountsAsOne(limit: Int) async {
    let event = Event<Int>()
    let crowd = Crowd()
    event.addHandler(on: .concurrent(limit: limit)) { _ in
      crowd.enter()
      await Task.yield()
      crowd.leave()
    }
    for number in 0..<100 { event.post(number) }
    await event.quiesce()
    #expect(crowd.peak == 1)
    #expect(await event.handlers().map(\.delivery) == ["concurrent(limit: 1)"])
  }

  @Test func taskHandlersOverlapWithThemselves() async {
    let event = Event<Int>()
    let together = Countdown(5)
    event.addHandler(on: .task) { _ in
      together.arrive()
      await together.opened()
    }
    for number in 0..<4 { event.post(number) }
    await comesBack {
      await event.send(4)
      await event.quiesce()
    }
  }

  // MARK: A slow handler

  @Test(arguments: SerialKind.allCases) func slowHandlerDelaysOnlyItself(kind: SerialKind) async {
    let event = Event<Int>()
    let (gate, slow) = (Gate(), Recorder<Int>())
    let others = (0..<6).map { _ in Recorder<Int>() }
    let done = Countdown(6)
    @Sendable func note(_ number: Int, _ index: Int) {
      others[index].record(number)
      if number == 499 { done.arrive() }
    }
    let stage = Stage()
    add(kind, to: event) { number in
      if !kind.isAsync { gate.wait() }
      slow.record(number)
    } later: { _ in
      await gate.opened()
    }
    event.addHandler { note($0, 0) }
    event.addHandler(on: .background) { note($0, 1) }
    event.addHandler(on: .queue(DispatchQueue(label: "other"))) { note($0, 2) }
    event.addHandler { number async in note(number, 3) }
    event.addHandler(on: .concurrent(limit: 1)) { number async in note(number, 4) }
    event.addHandler(isolatedTo: stage) { _, number in note(number, 5) }
    await startThread { for number in 0..<500 { event.post(number) } }.opened()
    await done.opened()
    #expect(slow.count <= 1)
    for recorder in others { #expect(recorder.values == Array(0..<500)) }
    gate.open()
    await event.quiesce()
    #expect(slow.values == Array(0..<500))
  }

  @Test func slowOverlappingHandlerDelaysOnlyItself() async {
    let event = Event<Int>()
    let (gate, others) = (Gate(), Recorder<Int>())
    event.addHandler(on: .concurrent(limit: 2)) { _ in await gate.opened() }
    event.addHandler(on: .task) { _ in await gate.opened() }
    event.addHandler { number async in others.record(number) }
    for number in 0..<500 { event.post(number) }
    #expect(await eventually { others.count == 500 })
    gate.open()
    await event.quiesce()
  }

  @Test func manyBlockedBackgroundHandlersDelayNoOtherHandler() async {
    let event = Event<Int>()
    let (gate, seen) = (Gate(), Gate())
    let began = Countdown(12)
    for _ in 0..<12 {
      event.addHandler(on: .background) { _ in
        began.arrive()
        gate.wait()
      }
    }
    event.post(1)
    await began.opened()
    event.addHandler(on: .background) { _ in seen.open() }
    event.post(2)
    await seen.opened()
    gate.open()
    await event.quiesce()
  }
}
