import Eventing
import EventingTesting
import Testing

// Tests of `all(as:)` as a source: sequences, filters, options and views.
extension BusTests {
  private struct Refused: Error {}

  @Test func aSequenceOfAllPayloadsOutlivesOneEventAndEndsWithTheBus() async {
    let bus = EventBus()
    var all = bus.all(as: (any Sendable).self).payloads(named: "all").makeAsyncIterator()
    bus.post("a")
    bus.event(for: Int.self).finish()
    bus.post("b")
    bus.post(1.5)
    bus.finish()
    var seen: [String] = []
    while let payload = await all.next(isolation: #isolation) { seen.append("\(payload)") }
    #expect(seen == ["a", "b", "1.5"])
  }

  @Test func aSequenceOfAllPayloadsLeavesTheBusWhenItIsReleased() async {
    let bus = EventBus()
    do {
      let numbers = bus.all(as: Int.self).payloads()
      bus.post(1)
      #expect(bus.event(for: Int.self).handlerCount == 1)
      withExtendedLifetime(numbers) {}
    }
    #expect(bus.event(for: Int.self).handlerCount == 0)
  }

  /// The events of a bus deliver on several threads at once. The thread sanitizer watches.
  @Test func aBoundedSequenceOfAllPayloadsBelongsToNoThread() async {
    let bus = EventBus()
    let all = bus.all(as: (any Sendable).self).payloads(buffering: .newest(1))
    await onThreads(2) { thread in
      for number in 0..<5_000 {
        if thread == 0 { bus.post([number]) } else { bus.post("\(number) in a text that is not inline") }
      }
    }
    var iterator = all.makeAsyncIterator()
    #expect(await iterator.next(isolation: #isolation) != nil)
  }

  @Test func aFilterSeesTheTagsOfAHandlerOfAllPayloads() {
    let (bus, seen) = (EventBus(), Recorder<Int>())
    let token = bus.all(as: Int.self).addHandler(.tagged("io")) { seen.record($0) }
    let kept = bus.all(as: Int.self).addHandler(.tagged("keep")) { _ in }
    bus.post(1)
    #expect(bus.removeAll(where: .tagged("io")) == 1 && !bus.contains(token))
    #expect(bus.removeAll(where: !.tagged("keep")) == 0 && bus.contains(kept))
    bus.post(2)
    #expect(seen.values == [1])
  }

  @Test func theSourceOfAllPayloadsRemovesNoHandlerOfAnotherEvent() {
    let (bus, event) = (EventBus(), Event<Int>())
    let token = event.addHandler { _ in }
    #expect(!bus.all(as: Int.self).remove(token) && event.contains(token))
    let own = bus.all(as: Int.self).addHandler { _ in }
    #expect(bus.all(as: Int.self).remove(own) && !bus.contains(own))
  }

  @Test func handlersOfAllPayloadsTakeBatchesOnTheMainActor() async {
    let (bus, seen) = (EventBus(), Recorder<Int>())
    bus.all(as: Int.self).batches(of: 2).addHandler(on: .main) { (batch: [Int]) in seen.record(batch.count) }
    await bus.send(1)
    #expect(seen.values == [1])
  }

  /// One call at a time means one in all events together, also behind a view.
  @Test func aHandlerBehindAViewOfAllPayloadsRunsOneCallAtATime() async {
    let (bus, overlaps, inside) = (EventBus(), Counter(), Counter())
    bus.all(as: (any Sendable).self).map { "\($0)" }.addHandler(on: .background) { _ in
      if inside.add() > 1 { overlaps.add() }
      nap(microseconds: 500)
      inside.add(-1)
    }
    for number in 0..<20 {
      bus.post(number)
      bus.post("\(number)")
    }
    await bus.quiesce()
    #expect(overlaps.value == 0)
  }

  @Test func optionsOfAWrapperDoNotTurnIntoABound() async {
    struct Wrapped: EventSource {
      let event: Event<Int>
      let option: HandlerOption<Int>
      func add(_ handler: Handler<Int>) -> HandlerToken { event.add(handler.with(option)) }
      func add(contentsOf handlers: [Handler<Int>]) -> [HandlerToken] { handlers.map(add) }
      func remove(_ token: HandlerToken) -> Bool { event.remove(token) }
    }
    let (event, gate, seen) = (Event<Int>(), Gate(), Recorder<Int>())
    Wrapped(event: event, option: .throttled(every: .seconds(60))).filter { _ in true }.addHandler { number async in
      await gate.opened()
      seen.record(number)
    }
    for number in 1...4 { event.post(number) }
    gate.open()
    await event.quiesce()
    #expect(seen.values == [1, 2, 3, 4])
    Wrapped(event: event, option: .named("wrapped")).filter { _ in true }.addHandler { _ in }
    #expect(event.contains(where: .named("wrapped")))
  }

  @Test func aLaterBoundDoesNotMakeAHandlerForgetThatItCancels() {
    let handler = Handler<Int>(.cancellingPrevious, on: .background) { (_: Int) in }.with(.buffering(.oldest(5)))
    #expect(handler.description.contains("newest(1)"))
  }
}
