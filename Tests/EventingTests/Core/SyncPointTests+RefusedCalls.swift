import Eventing
import Testing

#if DEBUG
  extension SyncPointTests {
    @Test func concurrentCallsThatALockRefusedComeBackInTheirOrder() async {
      // Two calls have been dequeued and are about to be claimed. Then a lock with a holding buffer
      // begins. It refuses both calls, the earlier one first.
      let (event, steps, calls) = (Event<Int>(), StepExecutor(), Recorder<Int>())
      let token = steps.adding { event.addHandler(on: .concurrent(limit: 2)) { number async in calls.record(number) } }
      for number in 1...4 { event.post(number) }
      let holds = (0..<2).map { _ in Hold(at: .claiming) }
      var runs: [Gate] = []
      for hold in holds {
        runs.append(startThread { hold.during { steps.runHere() } })
        await hold.reached.opened()
      }
      event.lock(token, holding: .oldest(100))
      for (hold, run) in zip(holds, runs) {
        hold.release()
        await run.opened()
      }
      #expect(calls.values == [])
      event.unlock(token)
      await steps.runUntilQuiet(event)
      #expect(calls.values == [1, 2, 3, 4])
    }
  }
#endif
