import Dispatch
import Eventing
import Synchronization
import Testing

/// Tests of guarantee G12: an event ends when its last reference is released.
@Suite(.fewAtATime) struct LastReferenceTests {
  @Test func afterAHandlerReleasesTheLastReferenceTheOthersRunAndThenAllIsReleased() async {
    let box = ConditionLock<Event<Int>?>(Event())
    let closures = LiveCount()
    let seen = Recorder<String>()
    weak var weakEvent: Event<Int>?
    do {
      let event = box.withLock { $0! }
      weakEvent = event
      let canary = Canary(closures)
      event.addHandler { value in
        canary.sing()
        box.withLock { $0 = nil }
        seen.record("first \(value)")
      }
      event.addHandler { value in
        canary.sing()
        seen.record("second \(value)")
      }
    }
    box.take()?.post(1)
    #expect(seen.values == ["first 1", "second 1"])
    #expect(weakEvent == nil)
    #expect(await eventually { closures.alive == 0 })
  }

  @Test func queuedOccurrencesAreDeliveredAfterTheLastReferenceAndThenAllIsReleased() async {
    let (closures, payloads) = (LiveCount(), LiveCount())
    let seen = Recorder<Int>()
    let (isInside, mayLeave, mayDrain) = (Gate(), Gate(), Gate())
    let box = ConditionLock<Event<Numbered>?>(Event())
    let weakEvent = box.withLock { WeakReference($0!) }
    box.withLock { event in
      let canary = Canary(closures)
      event!.addHandler { payload in
        canary.sing()
        seen.record(payload.number)
        switch payload.number {
        case 1:
          isInside.open()
          mayLeave.wait()
        case 2: mayDrain.wait()
        default: break
        }
      }
    }
    let poster = startThread { box.withLock { $0 }?.post(Numbered(1, Canary(payloads))) }
    await isInside.opened()
    for number in 2...3 { box.withLock { $0 }?.post(Numbered(number, Canary(payloads))) }
    box.withLock { $0 = nil }
    mayLeave.open()
    await poster.opened()
    #expect(weakEvent.object == nil, "what delivers the rest does not keep the event alive")
    mayDrain.open()
    #expect(await eventually { closures.alive == 0 && payloads.alive == 0 })
    #expect(seen.values == [1, 2, 3])
  }

  @Test func workOnLanesIsDeliveredAfterTheLastReferenceAndThenAllIsReleased() async {
    let (closures, payloads) = (LiveCount(), LiveCount())
    let seen = Recorder<Int>()
    let queue = DispatchQueue(label: "test")
    weak var weakEvent: Event<Numbered>?
    queue.suspend()
    let ticket: SendTicket
    do {
      let event = Event<Numbered>()
      weakEvent = event
      let canary = Canary(closures)
      event.addHandler(on: .queue(queue)) { payload in
        canary.sing()
        seen.record(payload.number)
      }
      event.post(Numbered(1, Canary(payloads)))
      event.post(Numbered(2, Canary(payloads)))
      ticket = event.submit(Numbered(3, Canary(payloads)))
    }
    #expect(weakEvent == nil)
    #expect(closures.alive == 1)
    queue.resume()
    #expect(await ticket.report.delivered == 1)
    #expect(seen.values == [1, 2, 3])
    #expect(await eventually { closures.alive == 0 && payloads.alive == 0 })
  }

  @Test(arguments: LaneDelivery.allCases) func everyKindOfLaneDeliversItsWorkAndEndsWhenTheEventIsReleased(
    delivery: LaneDelivery
  ) async {
    let closures = LiveCount()
    let calls = Recorder<Int>()
    let queue = DispatchQueue(label: "test")
    var tickets: [SendTicket] = []
    do {
      let event = Event<Int>()
      let canary = Canary(closures)
      event.add(
        delivery.handler(queue) {
          canary.sing()
          calls.record(1)
        })
      for number in 0..<10 { tickets.append(event.submit(number)) }
    }
    for ticket in tickets { #expect(await ticket.report.delivered == 1) }
    #expect(calls.count == 10)
    #expect(await eventually { closures.alive == 0 })
  }

  @Test func anEventReleasedByTwoPostingThreadsDeliversAllAndLeavesNothing() async {
    let (closures, payloads) = (LiveCount(), LiveCount())
    let overlaps = Overlaps()
    let calls = Atomic<Int>(0)
    let posts = Atomic<Int>(0)
    await inRounds(2, until: { overlaps.count > 100 }) {
      let event = Event<Canary>()
      let canary = Canary(closures)
      event.addHandler { _ in
        canary.sing()
        calls.wrappingAdd(1, ordering: .relaxed)
      }
      return [ConditionLock<Event<Canary>?>(event), ConditionLock<Event<Canary>?>(event)]
    } _: { thread, slots in
      let event = slots[thread].take()
      for _ in 0..<3 {
        overlaps.during { event?.post(Canary(payloads)) }
        posts.wrappingAdd(1, ordering: .relaxed)
      }
    }
    #expect(await eventually { closures.alive == 0 && payloads.alive == 0 })
    #expect(calls.load(ordering: .relaxed) == posts.load(ordering: .relaxed))
    #expect(overlaps.count > 10)
  }

  @Test func tokensBagsAndTicketsDoNotKeepAnEventAlive() async {
    weak var weakEvent: Event<Int>?
    let bag = HandlerBag()
    let token: HandlerToken
    let ticket: SendTicket
    do {
      let event = Event<Int>()
      weakEvent = event
      token = event.addHandler { _ in }
      event.addHandler { _ in }.store(in: bag)
      ticket = event.submit(1)
    }
    #expect(weakEvent == nil)
    #expect(await ticket.report.delivered == 2)
    #expect(bag.removeAll() == 0)
    withExtendedLifetime(token) {}
  }

  @Test func aViewKeepsItsEventAlive() {
    weak var weakEvent: Event<Int>?
    var views: [any Sendable] = []
    do {
      let event = Event<Int>()
      weakEvent = event
      views = [event.source, event.occurrences]
    }
    #expect(weakEvent != nil)
    views = []
    #expect(weakEvent == nil)
    _ = views
  }

  @Test func aTaskInQuiesceKeepsItsEventAliveUntilItReturns() async {
    let queue = DispatchQueue(label: "test")
    let seen = Recorder<Int>()
    let returned = Gate()
    queue.suspend()
    do {
      let event = Event<Int>()
      event.addHandler(on: .queue(queue)) { seen.record($0) }
      event.post(1)
      Task {
        await event.quiesce()
        seen.record(2)
        returned.open()
      }
    }
    queue.resume()
    await returned.opened()
    #expect(seen.values == [1, 2])
  }

  @Test func aPayloadIsReleasedWhenItHasBeenDelivered() async {
    let event = Event<Canary>()
    let payloads = LiveCount()
    event.addHandler { $0.sing() }
    event.addHandler(on: .background) { $0.sing() }
    event.addHandler { canary async in canary.sing() }
    for _ in 0..<10 { event.post(Canary(payloads)) }
    await event.quiesce()
    #expect(await eventually { payloads.alive == 0 })
  }

  @Test func aPayloadThatWasQueuedIsReleasedWhenItHasBeenDelivered() async {
    let event = Event<Canary?>()
    let payloads = LiveCount()
    let alive = Recorder<Int>()
    let (isInside, mayLeave) = (Gate(), Gate())
    event.addHandler { canary in
      if canary == nil {
        isInside.open()
        mayLeave.wait()
      } else {
        alive.record(payloads.alive)
      }
    }
    let poster = startThread { event.post(nil) }
    await isInside.opened()
    for _ in 0..<10 { event.post(Canary(payloads)) }
    mayLeave.open()
    await poster.opened()
    await event.quiesce()
    #expect(alive.values == (1...10).reversed())
    #expect(await eventually { payloads.alive == 0 })
  }

  @Test func aPayloadWhoseDeinitPostsToItsEventDoesSo() async {
    let event = Event<Canary>()
    let (seen, payloads) = (Recorder<Int>(), LiveCount())
    event.addHandler { _ in seen.record(1) }
    event.post(Canary(payloads) { [weak event] in event?.post(Canary(payloads)) })
    await event.quiesce()
    #expect(seen.count == 2)
    #expect(await eventually { payloads.alive == 0 })
  }

  @Test func aClosureWhoseDeinitCallsTheEventMayBeRemovedAndReplaced() async {
    let event = Event<Int>()
    let (seen, closures) = (Recorder<Int>(), LiveCount())
    let token: HandlerToken
    do {
      let canary = Canary(closures) { [weak event] in
        event?.post(2)
        event?.addHandler { seen.record(10 * $0) }
        _ = event?.handlerCount
      }
      token = event.addHandler { _ in canary.sing() }
    }
    event.addHandler { seen.record($0) }
    #expect(event.remove(token))
    event.post(3)
    await event.quiesce()
    #expect(closures.alive == 0)
    #expect(seen.values == [2, 3, 30])
  }
}

private struct Numbered: Sendable {
  let number: Int
  let canary: Canary
  init(_ number: Int, _ canary: Canary) { (self.number, self.canary) = (number, canary) }
}

private final class WeakReference<Object: AnyObject & Sendable>: Sendable {
  weak let object: Object?
  init(_ object: Object) { self.object = object }
}

extension ConditionLock {
  /// Returns the value and replaces it by `nil`.
  fileprivate func take<Wrapped: Sendable>() -> Wrapped? where Value == Wrapped? {
    withLock { value in
      defer { value = nil }
      return value
    }
  }
}
