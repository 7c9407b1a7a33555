import Eventing
import Testing

#if DEBUG
  /// Tests of the messages of debug builds about modifiers that have no effect on a handler.
  ///
  /// A refusal ends the process, so each body has a process of its own.
  @Suite(.fewAtATime) struct RefusalTests {
    private func expect(
      _ text: String, in result: ExitTest.Result?, sourceLocation: SourceLocation = #_sourceLocation
    ) {
      let said = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
      #expect(said.contains(text), sourceLocation: sourceLocation)
    }

    @Test func batchesThatCancelThePreviousAreRefused() async {
      let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        Event<Int>().batches(of: 2).addHandler(.cancellingPrevious) { _ async in }
      }
      expect("expected no cancellingPrevious and no inOrder(by:) for batches", in: result)
      let keyed = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        Event<Int>().batches(of: 2).addHandler(.inOrder(by: \.count)) { _ async in }
      }
      expect("see batches(of:by:)", in: keyed)
    }

    @Test func aBoundOfAHandlerForWhichNothingWaitsIsAWarning() async {
      let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
        _ = Handler<Int>(.named("inline"), .buffering(.latest)) { _ in }
        _ = Handler<Int>(.named("tasks"), .buffering(.latest), on: .task) { _ in }
        _ = Handler<Int>(.named("restarts"), .cancellingPrevious) { (_: Int) in }
        await Task.yield()
      }
      expect("eventing: inline on inline: buffering(newest(1)) does nothing", in: result)
      expect("eventing: tasks on task: buffering(newest(1)) does nothing", in: result)
      expect("eventing: restarts on inline: cancellingPrevious does nothing", in: result)
    }

    @Test func aTimeLimitOfASynchronousHandlerIsAWarning() async {
      let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
        let (event, seen) = (Event<Int>(), Recorder<Int>())
        event.addHandler(.named("billing"), .timingOut(after: .seconds(1))) { seen.record($0) }
        #expect(await event.send(1).delivered == 1)
        #expect(seen.values == [1])
      }
      expect("eventing: billing on inline: timingOut(after:) does nothing: a synchronous handler", in: result)
    }
  }
#else
  /// Tests of what a release build does with modifiers that a debug build refuses.
  @Suite(.fewAtATime) struct RefusalTests {
    @Test func batchesIgnoreThatTheyRestart() async {
      let (event, gate, seen) = (Event<Int>(), Gate(), Recorder<[Int]>())
      event.add(
        Handler(.cancellingPrevious) { (batch: [Int]) async in
          seen.record(batch)
          await gate.opened()
        }.batched(of: 9), Handler(.cancellingPrevious, on: .inOrder) { (_: [Int]) async in }.batched(of: 9))
      let first = event.submit(1)
      #expect(await eventually { seen.count == 1 })
      for payload in 2...4 { event.post(payload) }
      gate.open()
      await event.quiesce()
      #expect(await first.report.delivered == 2)
      #expect(seen.values == [[1], [2, 3, 4]])
      #expect(await event.handlers().map(\.droppedCount) == [0, 0])
    }
  }
#endif
