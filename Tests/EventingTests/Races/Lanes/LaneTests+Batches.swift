import Dispatch
import Eventing
import Testing

extension LaneTests {
  // MARK: Batches

  @Test func laneGivesWayToOthersOnItsQueue() async {
    let event = Event<Int>()
    let queue = DispatchQueue(label: "shared")
    let (calls, callsBefore) = (Counter(), Recorder<Int>())
    event.addHandler(on: .queue(queue)) { _ in calls.add() }
    queue.suspend()
    for number in 0..<3_000 { event.post(number) }
    queue.async { callsBefore.record(calls.value) }
    queue.resume()
    await event.quiesce()
    #expect(calls.value == 3_000)
    #expect(callsBefore.values.allSatisfy { $0 < 1_000 })
    #expect(callsBefore.count == 1)
  }

  @Test func laneGivesWayToOthersInThePool() async {
    let event = Event<Int>()
    let (executor, calls, seen) = (StepExecutor(), Counter(), Recorder<Int>())
    executor.adding { event.addHandler { _ async in calls.add() } }
    for number in 0..<3_000 { event.post(number) }
    executor.after { seen.record(calls.value) }
    while await executor.run() {}
    #expect(calls.value == 3_000)
    #expect(seen.values.allSatisfy { $0 < 1_000 })
    #expect(seen.count == 1)
  }

  @Test(arguments: SerialKind.allCases) func payloadGoesWithItsCallAndNotWithItsBatch(kind: SerialKind) async {
    let event = Event<Canary>()
    let (live, gate) = (LiveCount(), Gate())
    let alive = Recorder<Int>()
    let first = Gate()
    add(kind, to: event) { _ in
      first.open()
      if !kind.isAsync { gate.wait() }
      alive.record(live.alive)
    } later: { _ in
      await gate.opened()
    }
    for _ in 0..<10 { event.post(Canary(live)) }
    await first.opened()
    gate.open()
    await event.quiesce()
    #expect(await eventually { live.alive == 0 })
    // In the call with number `index`, counted from 0, its payload and all later ones are alive:
    // these are `10 - index`. The payload of the call before it may still be alive, too.
    for (index, count) in alive.values.enumerated() { #expect(count <= 11 - index) }
  }

  @Test func laneThatRunsDryIsScheduledAgain() async {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    event.addHandler(on: .background) { seen.record($0) }
    event.addHandler { number async in seen.record(number) }
    for number in 0..<2_000 { await event.send(number) }
    #expect(seen.values == (0..<2_000).flatMap { [$0, $0] })
  }

  @Test(arguments: SerialKind.allCases) func laneDeliversItsWorkWhenItsEventIsReleased(kind: SerialKind) async {
    let (live, seen, gate) = (LiveCount(), Recorder<Int>(), Gate())
    do {
      let event = Event<Int>()
      let canary = Canary(live)
      let stage = Stage()
      add(kind, to: event, stage: stage) { number in
        canary.sing()
        if !kind.isAsync { gate.wait() }
        seen.record(number)
      } later: { _ in
        withExtendedLifetime(stage) {}
        await gate.opened()
      }
      for number in 0..<300 { event.post(number) }
    }
    gate.open()
    #expect(await eventually { live.alive == 0 })
    #expect(seen.values == Array(0..<300))
  }
}
