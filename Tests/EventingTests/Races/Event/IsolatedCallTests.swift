import Dispatch
import Eventing
import Foundation
import Testing

/// Tests that isolated calls run between two occurrences.
///
/// A post never waits for an isolated call that has no thread yet.
@Suite(.fewAtATime) struct IsolatedCallTests {
  @Test func aPostIsNotDelayedByAnInspectionThatWaitsForAThread() async {
    await #expect(processExitsWith: .success) {
      endProcessIfItHangs()
      await Self.postBeside { event, _ in _ = await event.handlers() }
    }
  }

  @Test func aPostIsNotDelayedByAnIsolatedCallThatWaitsForAThread() async {
    await #expect(processExitsWith: .success) {
      endProcessIfItHangs()
      let found = Recorder<[Int]>()
      await Self.postBeside { event, seen in await event.between { found.record(seen.values) } }
      #expect(found.count == 1 && found.values.allSatisfy { $0.starts(with: [1, 2]) })  // posted before the call
    }
  }

  /// Blocks all threads of Dispatch's global pool, lets a task make an isolated call, and posts.
  private static func postBeside(_ look: @escaping @Sendable (Event<Int>, Recorder<Int>) async -> Void) async {
    let (event, seen, atReturn) = (Event<Int>(), Recorder<Int>(), Recorder<[Int]>())
    let (steps, looked, unblocked) = (StepExecutor(), Gate(), Gate())
    event.addHandler { seen.record($0) }
    event.post(1)
    await onThread {
      let blocked = Recorder<Int>()
      for number in 0..<64 {
        DispatchQueue.global().async {
          blocked.record(number)
          unblocked.wait()
        }
      }
      blocked.wait(forCount: ProcessInfo.processInfo.activeProcessorCount)
      Task(executorPreference: steps) {
        event.post(2)
        await look(event, seen)
        looked.open()
      }
      steps.runWhileThisIsHeld()  // the isolated call now waits to enter the core
      event.post(3)
      atReturn.record(seen.values)
      unblocked.open()
    }
    #expect(atReturn.values == [[1, 2, 3]])
    while !looked.isOpen { await steps.run() }
    await event.quiesce()
    #expect(seen.values == [1, 2, 3])
  }

  @Test func anIsolatedCallSeesAllOccurrencesSentBeforeItToABusyEvent() async {
    let (event, seen, found, steps, looked) = (Event<Int>(), Recorder<Int>(), Recorder<[Int]>(), StepExecutor(), Gate())
    event.addHandler { seen.record($0) }
    await whileBusy(event) {
      for number in 1...3 { event.post(number) }
      Task(executorPreference: steps) {
        await event.between { found.record(seen.values) }
        looked.open()
      }
      steps.runWhileThisIsHeld()
      event.post(4)
    }
    while !looked.isOpen { await steps.run() }
    #expect(found.count == 1 && found.values.allSatisfy { $0.starts(with: [0, 1, 2, 3]) })
    await event.quiesce()
    #expect(seen.values == [0, 1, 2, 3, 4])
  }

  @Test func isolatedCallsBesideSendersSeeAllEarlierPostsOfTheirOwnTask() async {
    let (event, last) = (Event<Int>(), ConditionLock([Int](repeating: 0, count: 4)))
    event.addHandler { number in last.withLock { $0[number / 10_000] = number % 10_000 } }
    await withTaskGroup { group in
      for task in 0..<4 {
        group.addTask {
          for number in 1...300 {
            event.post(task * 10_000 + number)
            let found = await event.between { last.withLock { $0[task] } }
            #expect(found == number)
          }
        }
      }
    }
  }
}

extension Event {
  /// Runs `body` between two occurrences.
  fileprivate func between<Result: Sendable>(_ body: @Sendable () -> Result) -> Result { body() }
}
