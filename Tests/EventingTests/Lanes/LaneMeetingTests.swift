import Dispatch
import Eventing
import EventingTesting
import Testing

/// Tests of handlers that meet on one lane, and of ends that meet calls which have not begun.
@Suite(.fewAtATime) struct LaneMeetingTests {
  @Test func batchesOfDifferentTypesShareALane() async {
    let (lane, numbers, texts) = (HandlerLane(), Event<Int>(), Event<String>())
    let (sum, seen) = (Recorder<Int>(), Recorder<String>())
    numbers.batches(of: 3).addHandler(on: .lane(lane)) { batch async throws in for one in batch { sum.record(one) } }
    texts.batches(of: 3).addHandler(on: .lane(lane)) { batch async throws in for one in batch { seen.record(one) } }
    for round in 0..<20 {
      for number in 0..<3 {
        numbers.post(3 * round + number)
        texts.post("a text that is longer than a small string, number \(3 * round + number)")
      }
      await lane.quiesce()
    }
    #expect(sum.values == Array(0..<60))
    #expect(seen.values == (0..<60).map { "a text that is longer than a small string, number \($0)" })
  }

  @Test func aHandlerWhoseBatchTookMoreThanItsPlaceIsRemoved() async {
    let (lane, first, second) = (HandlerLane(limit: 2), Event<Int>(), Event<Int>())
    let (gate, begun, seen) = (Gate(), Countdown(2), Recorder<Int>())
    second.addHandler(on: .lane(lane)) { number in
      if number < 2 { begun.arrive() }
      await gate.opened()
      seen.record(number)
    }
    for number in 0..<2 { second.post(number) }
    await begun.opened()
    let token = first.batches(of: 5).addHandler(on: .lane(lane)) { _ async throws in }
    first.post(1)
    for number in 2..<100 { second.post(number) }
    for number in 2...5 { first.post(number) }
    gate.open()
    await first.quiesce()
    first.remove(token)
    await second.quiesce()
    #expect(seen.count == 100)
  }

  @Test func keyedPayloadsGatherAlsoWhileTheCallOfTheirKeyRuns() async {
    let (event, clock, gate, batches) = (Event<Int>(), ManualClock(), Gate(), Recorder<[Int]>())
    event.batches(of: 2, within: .seconds(60), by: { _ in 0 }, clock: clock).addHandler(on: .concurrent(limit: 2)) {
      batch async throws in
      batches.record(batch)
      if batch == [1, 2] { await gate.opened() }
    }
    for number in 1...3 { event.post(number) }
    #expect(await eventually { batches.count == 1 && clock.sleeperCount == 1 })
    gate.open()
    for _ in 0..<200 { await Task.yield() }
    #expect(batches.values == [[1, 2]])
    event.post(4)
    #expect(await eventually { batches.count == 2 })
    await event.quiesce()
    #expect(batches.values == [[1, 2], [3, 4]])
  }

  @Test func aHandlerIsRemovedBetweenAttemptsAfterItsEventHasEnded() async {
    for _ in 0..<200 {
      let (event, live) = (Event<Int>(), LiveCount())
      let token = {
        let canary = Canary(live)
        return event.add(
          Handler(
            .retrying(.exponential(from: .seconds(600), to: .seconds(600), attempts: 2)), on: .concurrent(limit: 2)
          ) { (_: Int) async throws in
            _ = canary
            throw CancellationError()
          })
      }()
      event.post(1)
      for _ in 0..<Int.random(in: 0..<20) { await Task.yield() }
      event.finish()
      event.remove(token)
      #expect(await eventually { live.alive == 0 })
    }
  }

  @Test func twoHandlersOfASharedLaneMayEndAtOnce() async {
    let (lane, live) = (HandlerLane("wide", limit: 2), LiveCount())
    let (first, second, other) = (Event<Int>(), Event<Int>(), Event<Int>())
    let (begun, mayEnd, isBusy, mayGoOn) = (Gate(), Gate(), Gate(), Gate())
    let gone = second.addHandler(on: .lane(lane)) { _ async in }
    let token = {
      let canary = Canary(live)
      return first.addHandler(on: .lane(lane)) { _ async in
        canary.sing()
        begun.open()
        await mayEnd.opened()
        second.remove(gone)  // the end of the second handler is next on the lane
      }
    }()
    other.addHandler(on: .lane(lane)) { _ async in
      isBusy.open()
      await mayGoOn.opened()
    }
    first.post(1)
    await begun.opened()
    first.remove(token)
    other.post(1)  // the other worker takes the end of the first handler, then this call
    await isBusy.opened()
    second.post(1)  // waits: both workers are busy
    mayEnd.open()
    #expect(await eventually { live.alive == 0 })
    mayGoOn.open()
    withExtendedLifetime((first, second, other)) {}
  }

  @TaskLocal private static var request = 0

  @Test func aFailureOnALaneHasTheValuesOfItsSender() async {
    let carrying = EventContext.propagate(LaneMeetingTests.$request)
    defer { carrying.end() }
    let (event, queue, seen) = (Event<Int>(), DispatchQueue(label: "test"), Recorder<Int>())
    event.addHandler(on: .inOrder) { _ async throws in throw CancellationError() }
    event.addHandler(on: .queue(queue)) { _ throws in throw CancellationError() }
    event.addHandler(on: .concurrent(limit: 2)) { _ async throws in throw CancellationError() }
    event.failures.addHandler { _ in seen.record(LaneMeetingTests.request) }
    LaneMeetingTests.$request.withValue(7) { event.post(1) }
    await event.quiesce()
    #expect(await eventually { seen.values == [7, 7, 7] })
  }

  @Test func theEndOfAnEventEndsTheRetriesOfAOnceHandlerThatRuns() async {
    let (gate, begun, calls, live) = (Gate(), Gate(), Counter(), LiveCount())
    var event: Event<Int>? = Event<Int>()
    do {
      let canary = Canary(live)
      event?.add(
        Handler(.once, .retrying(.exponential(from: .milliseconds(1), to: .milliseconds(1), attempts: 5)), on: .inOrder)
        { (_: Int) async throws in
          canary.sing()
          calls.add()
          begun.open()
          await gate.opened()
          throw CancellationError()
        })
    }
    event?.post(1)
    await begun.opened()
    event = nil
    gate.open()
    #expect(await eventually { live.alive == 0 })
    #expect(calls.value == 2)  // one last attempt
  }
}
