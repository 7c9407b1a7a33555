import Eventing
import Testing

extension SendCompletionTests {
  // MARK: The send that defers a handler, and the cost of the search for cycles of waits

  @Test func sendThatClosesTheCycleIsDeferred() async {
    // The handler of `first` sends to `second`, and the handler of `second` sends to `first`. So
    // each of the two sends would wait for the other. Here the send to `first` is made before the
    // send to `second` has begun to wait. Still the send to `first` must be the one that does not
    // wait.
    let (first, second) = (Event<Int>(), Event<Int>())
    let (sending, answering) = (StepExecutor(), StepExecutor())
    let (outer, inner) = (Recorder<SendReport>(), Recorder<SendReport>())
    let (delivered, goOn) = (Gate(), Gate())
    sending.adding {
      _ = first.addHandler { number in
        if number == 0 { outer.record(await second.send(0)) }
      }
    }
    answering.adding { _ = second.addHandler { _ in inner.record(await first.send(1)) } }
    second.addHandler { _ in
      delivered.open()
      goOn.wait()
    }
    first.post(0)
    async let ran = sending.run()
    await delivered.opened()
    await answering.run()
    goOn.open()
    _ = await ran
    await comesBack {
      while outer.count + inner.count < 2, !Task.isCancelled {
        await sending.run()
        await answering.run()
      }
    }
    #expect(inner.values.map(\.deferred) == [1])
    #expect(outer.values.map(\.deferred) == [0])
  }

  @Test func slotThatIsFreeAgainIsWaitedFor() async {
    // Both slots of the lane of `first` have been in use. Now one waits for `second`, and the other
    // is free. So the send back to `first` can complete.
    let (first, second) = (Event<Int>(), Event<Int>())
    let (both, reports) = (Countdown(2), Recorder<SendReport>())
    first.addHandler(on: .concurrent(limit: 2)) { number in
      switch number {
      case -1:
        both.arrive()
        await both.opened()
      case 0: await second.send(0)
      default: break
      }
    }
    second.addHandler { _ in reports.record(await first.send(1)) }
    await comesBack {
      for _ in 0..<2 { first.post(-1) }
      await first.quiesce()
      await first.send(0)
    }
    #expect(reports.values.map(\.delivered) == [1])
    #expect(reports.values.map(\.deferred) == [0])
  }

  @Test func manyLayersOfBlockedSlotsAreSearchedOnceEach() async {
    // Both calls of each lane wait for the next lane. So 2 to the power of 26 paths lead from the
    // first lane to the last.
    let (last, turns, deferred) = (Event<Int>(), [Gate(), Gate()], Recorder<Int>())
    let layers = Layers(26, before: last)
    for event in layers.events { layers.add(event, on: .concurrent(limit: 2)) }
    layers.steps.adding {
      _ = last.addHandler(on: .concurrent(limit: 2)) { number in
        guard number < 2 else { return }
        await turns[number].opened()
        deferred.record(await layers.events[0].send(2).deferred)
      }
    }
    for number in 0..<2 { last.post(number) }
    await layers.start(calls: 2)
    turns[0].open()
    await layers.steps.run()
    turns[1].open()
    await comesBack { while deferred.count < 2, !Task.isCancelled { await layers.steps.run() } }
    #expect(deferred.values.sorted() == [0, 1])
    layers.end()
  }

  @Test func manyLayersOfFreeLanesAreSearchedOnceEach() async {
    // Each call waits for both lanes of the next event. No lane waits for the call that starts the
    // search, so the search visits all lanes.
    let (last, asking, mayEnd, reports) = (Event<Int>(), Event<Int>(), Gate(), Recorder<SendReport>())
    let layers = Layers(26, before: last)
    for event in layers.events { for _ in 0..<2 { layers.add(event, on: .inOrder) } }
    layers.steps.adding {
      for _ in 0..<2 {
        last.addHandler { number in
          if number == 0 { await mayEnd.opened() }
        }
      }
      asking.addHandler { _ in reports.record(await layers.events[0].send(2)) }
    }
    last.post(0)
    await layers.start(calls: 1)
    asking.post(0)
    await comesBack { await layers.steps.run() }
    #expect(reports.count == 0)
    mayEnd.open()
    await comesBack { while reports.count < 1, !Task.isCancelled { await layers.steps.run() } }
    #expect(reports.values.map(\.delivered) == [2])
    #expect(reports.values.map(\.deferred) == [0])
    layers.end()
  }
}

/// A chain of events. When a handler is called with the payload 0, it sends the payload 2 to the
/// next event, and waits for that send.
private final class Layers: Sendable {
  let events: [Event<Int>]
  let steps = StepExecutor()
  private let last: Event<Int>
  private let gates: [Gate]

  init(_ count: Int, before last: Event<Int>) {
    events = (0..<count).map { Event("layer \($0)") }
    gates = events.map { _ in Gate() }
    self.last = last
  }

  func add(_ event: Event<Int>, on delivery: AsyncDelivery) {
    guard let index = events.firstIndex(where: { $0 === event }) else { return }
    let (gate, next) = (gates[index], index + 1 < events.count ? events[index + 1] : last)
    steps.adding {
      _ = event.addHandler(on: delivery) { number in
        guard number == 0 else { return }
        await gate.opened()
        await next.send(2)
      }
    }
  }

  /// Fills all slots of all lanes with calls that wait at a gate. Then opens the gates of the
  /// events in turn, from the first event to the last: each call goes on, and sends to the next
  /// event.
  func start(calls: Int) async {
    for event in events { for _ in 0..<calls { event.post(0) } }
    await steps.run()
    for gate in gates {
      gate.open()
      await steps.run()
    }
  }

  func end() {
    for event in events + [last] { event.removeAll() }
  }
}
