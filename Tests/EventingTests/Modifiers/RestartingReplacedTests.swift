import Eventing
import EventingTesting
import Testing

/// Tests of restarting handlers: a new occurrence replaces one that waits, and on a shared lane it
/// cancels only a call of its own handler.
@Suite(.fewAtATime) struct RestartingReplacedTests {
  @Test func quiesceWaitsForTheCallThatRunsAndForNoOccurrenceThatReplacesAnother() async {
    let (event, gates, seen) = (Event<Int>(), [Gate(), Gate(), Gate()], Recorder<Int>())
    event.addHandler(.cancellingPrevious) { payload in
      seen.record(payload)
      await Task.detached { await gates[payload].opened() }.value  // ignores cancellation
    }
    event.post(0)
    #expect(await eventually { seen.count == 1 })
    let replaced = event.submit(1)
    let isQuiet = Gate()
    let quieted = Task.immediate {
      await event.quiesce()
      isQuiet.open()
    }
    event.post(2)
    #expect(await replaced.report.dropped == 1)
    for _ in 0..<200 { await Task.yield() }
    #expect(!isQuiet.isOpen)  // the call for 0 runs
    gates[0].open()
    // The call for 2, which came after the barrier, still runs.
    #expect(await eventually { isQuiet.isOpen })
    #expect(seen.values.first == 0 && !gates[2].isOpen)
    gates[2].open()
    await quieted.value
    await event.quiesce()
    #expect(seen.values == [0, 2])
  }

  @Test func onASharedLaneAnOccurrenceCancelsACallOfItsOwnHandlerOnly() async {
    let (lane, one, other, clock) = (HandlerLane(), Event<Int>(), Event<Int>(), ManualClock())
    let (seen, gate, isCancelled) = (Recorder<Int>(), Gate(), Recorder<Bool>())
    one.add(
      Handler(.cancellingPrevious, on: .lane(lane)) { payload async throws in
        seen.record(payload)
        if payload == 1 { try await clock.sleep(for: .seconds(1)) }
      })
    other.addHandler(on: .lane(lane)) { payload in
      seen.record(payload)
      await gate.opened()
      isCancelled.record(Task.isCancelled)
    }
    let first = one.submit(1)
    #expect(await eventually { clock.sleeperCount == 1 })
    other.post(10)
    one.post(2)
    #expect(await first.report.dropped == 1)
    #expect(await eventually { seen.count == 2 })
    one.post(3)
    gate.open()
    await lane.quiesce()
    #expect(isCancelled.values == [false] && seen.values == [1, 10, 3])
    // Call 1, which was cancelled, counts in both numbers.
    #expect(await one.handlers().map { [$0.callCount, $0.droppedCount] } == [[2, 2]])
  }
}
