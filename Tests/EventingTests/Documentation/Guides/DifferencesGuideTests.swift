import Eventing
import Testing

/// The differences that the guides for users of NotificationCenter and Combine name.
@Suite(.fewAtATime) struct DifferencesGuideTests {
  @Test func aPostToABusyEventReturnsBeforeItsHandlersHaveRun() async {
    let (placed, inside, gate, seen) = (Event<Int>(), Gate(), Gate(), Recorder<Int>())
    placed.addHandler { order in
      seen.record(order)
      if order == 1 {
        inside.open()
        gate.wait()
      }
    }
    let first = startThread { placed.post(1) }
    await inside.opened()
    placed.post(2)
    #expect(seen.values == [1])
    gate.open()
    await first.opened()
    await placed.send(3)
    #expect(seen.values == [1, 2, 3])
  }

  @Test func removingAHandlerCancelsNoCallThatRuns() async {
    let (placed, inside, gate, wasCancelled) = (Event<Int>(), Gate(), Gate(), Recorder<Bool>())
    let token = placed.addHandler { _ async in
      inside.open()
      await gate.opened()
      wasCancelled.record(Task.isCancelled)
    }
    placed.post(1)
    await inside.opened()
    placed.remove(token)
    gate.open()
    await placed.quiesce()
    #expect(wasCancelled.values == [false])
  }

  @Test func aNewPayloadCancelsTheCallOfARestartingHandler() async {
    let (search, inside, wasCancelled) = (Event<Int>(), Gate(), Recorder<Bool>())
    search.addHandler(.cancellingPrevious) { text async in
      guard text == 1 else { return }
      inside.open()
      while !Task.isCancelled { await Task.yield() }
      wasCancelled.record(Task.isCancelled)
    }
    search.post(1)
    await inside.opened()
    search.post(2)
    await search.quiesce()
    #expect(wasCancelled.values == [true])
  }
}
