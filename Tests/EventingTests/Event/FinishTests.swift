import Dispatch
import Eventing
import Testing

/// Tests of guarantee G12: `finish()` ends an event.
@Suite(.fewAtATime) struct FinishTests {
  @Test func afterFinishSendsReachNoHandlerAndAddsReturnTokensOfEndedHandlers() async {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    let closures = LiveCount()
    let first = event.addHandler { seen.record($0) }
    event.post(1)
    event.finish()
    #expect(await event.send(2).reachedNobody)
    #expect(await event.submit(3).report.reachedNobody)
    #expect(!event.contains(first))
    for token in addInEveryWay(to: event, seen, closures) {
      #expect(!event.contains(token))
      #expect(!event.remove(token))
      #expect(!event.isLocked(token))
    }
    #expect(await event.send(4).reachedNobody)
    #expect(closures.alive == 0)
    #expect(event.handlerCount == 0)
    #expect(seen.values == [1])
  }

  private func addInEveryWay(to event: Event<Int>, _ seen: Recorder<Int>, _ closures: LiveCount) -> [HandlerToken] {
    let canary = Canary(closures)
    let body: @Sendable (Int) -> Void = { value in
      canary.sing()
      seen.record(value)
    }
    return [
      event.addHandler { body($0) }, event.once { body($0) },
      event.addHandler(.named("name"), .priority(2)) { body($0) },
      event.addHandler(on: .background) { body($0) }, event.addHandler { value async in body(value) },
      event.addHandler(on: .task) { value async in body(value) },
    ] + event.add(Handler { body($0) }, Handler { body($0) })
  }

  @Test func finishReleasesTheHandlers() async {
    let event = Event<Int>()
    let closures = LiveCount()
    _ = addInEveryWay(to: event, Recorder(), closures)
    #expect(closures.alive == 1)
    event.finish()
    #expect(await eventually { closures.alive == 0 })
    #expect(event.handlerCount == 0)
  }

  @Test func occurrencesSentBeforeFinishAreDelivered() async {
    let event = Event<Int>()
    let queue = DispatchQueue(label: "test")
    let (inline, lane) = (Recorder<Int>(), Recorder<Int>())
    let (isInside, mayLeave) = (Gate(), Gate())
    event.addHandler { value in
      inline.record(value)
      if value == 1 {
        isInside.open()
        mayLeave.wait()
      }
    }
    event.addHandler(on: .queue(queue)) { lane.record($0) }
    queue.suspend()
    let poster = startThread { event.post(1) }
    await isInside.opened()
    let before = event.submit(2)
    event.finish()
    let after = event.submit(3)
    mayLeave.open()
    await poster.opened()
    queue.resume()
    #expect(await before.report.delivered == 2)
    #expect(await after.report.delivered == 0)
    await event.quiesce()
    #expect(inline.values == [1, 2])
    #expect(lane.values == [1, 2])
  }

  @Test func anOccurrenceWhoseHandlerFinishesTheEventStillReachesTheLaterHandlers() async {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    event.addHandler { [weak event] value in
      event?.post(value + 1)
      event?.finish()
      event?.post(value + 10)
    }
    event.addHandler { seen.record($0) }
    event.post(1)
    #expect(seen.values == [1, 2])
    #expect(event.handlerCount == 0)
  }

  @Test func finishingTwiceIsFinishingOnce() async {
    let event = Event<Int>()
    event.finish()
    event.addHandler { _ in }
    event.finish()
    await event.quiesce()
    #expect(await event.send(1).reachedNobody)
  }

  @Test func aHandlerWhoseAddIsQueuedWhenTheEventIsFinishedIsReleased() async {
    let event = Event<Int>()
    let (seen, closures) = (Recorder<Int>(), LiveCount())
    let (isInside, mayLeave) = (Gate(), Gate())
    event.addHandler { _ in
      isInside.open()
      mayLeave.wait()
    }
    let poster = startThread { event.post(1) }
    await isInside.opened()
    _ = addInEveryWay(to: event, seen, closures)
    event.finish()
    _ = addInEveryWay(to: event, seen, closures)
    event.post(2)
    mayLeave.open()
    await poster.opened()
    await event.quiesce()
    #expect(await eventually { closures.alive == 0 })
    #expect(seen.values == [])
  }

  @Test func everyTicketIsCompleteAndNothingIsLeftWhenAnEventIsFinishedWhileThreadsSendAndAdd() async {
    let overlaps = Overlaps()
    let (closures, payloads) = (LiveCount(), LiveCount())
    let tickets = Recorder<SendTicket>()
    let events = Recorder<Event<Canary>>()  // keeps the events alive: `finish()` must end them, not `deinit`
    await inRounds(3, until: { overlaps.count > 100 }) {
      let event = Event<Canary>()
      events.record(event)
      return event
    } _: { thread, event in
      overlaps.during {
        switch thread {
        case 0:
          let canary = Canary(closures)
          for _ in 0..<3 {
            event.addHandler { _ in canary.sing() }
            event.addHandler(on: .background) { _ in canary.sing() }
          }
        case 1: for _ in 0..<3 { tickets.record(event.submit(Canary(payloads))) }
        default: event.finish()
        }
      }
    }
    for ticket in tickets.values { _ = await ticket.report }
    #expect(await eventually { closures.alive == 0 && payloads.alive == 0 })
    #expect(overlaps.count > 10)
  }

  @Test func anEventSaysWhetherItIsFinished() {
    let (event, keyed) = (Event<Int>(), KeyedEvent<Int, Int>())
    #expect(!event.isFinished && !keyed.isFinished)
    event.addHandler { _ in event.finish() }
    event.post(1)
    keyed.finish()
    #expect(event.isFinished && keyed.isFinished)
  }
}
