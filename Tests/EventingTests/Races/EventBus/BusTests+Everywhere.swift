import Eventing
import Testing

// Tests of handlers in all events of a bus: a once handler is called once in total, and threads may
// race.
extension BusTests {
  @Test func onceIsOnceInAll() async throws {
    let (bus, owner, seen) = (EventBus(), Owner(), Recorder<Int>())
    let event = try bus.event(Self.number, of: owner)
    let token = bus.all(as: Int.self).addHandler(.once) { seen.record($0) }
    #expect(await bus.send("no number").skipped == 1)
    event.lock()
    event.post(1)
    event.unlock()
    #expect(seen.values.isEmpty)
    event.post(2)
    bus.post(3)
    event.post(4)
    #expect(seen.values == [2] && !bus.remove(token))
    #expect(event.handlerCount == 0 && bus.event(for: Int.self).handlerCount == 0)
    bus.post(1.5)
    #expect(bus.event(for: Double.self).handlerCount == 0)
  }

  /// Both calls are queued before one of them begins.
  @MainActor @Test func ofTwoQueuedCallsOfAOnceHandlerOneCounts() async throws {
    let (bus, owner, began, goesOn, seen) = (EventBus(), Owner(), Gate(), Gate(), Recorder<Int>())
    let events = try (0..<2).map { try bus.event(EventKey<Int>("\($0)"), of: owner) }
    bus.all(as: Int.self).addHandler(.once, on: .main) { number async in
      seen.record(number)
      began.open()
      await goesOn.opened()
    }
    let tickets = (0..<2).map { events[$0].submit($0) }
    await began.opened()
    let first = seen.values[0]
    let other = await tickets[1 - first].report
    goesOn.open()
    let report = await tickets[first].report
    #expect(report.delivered == 1 && other.delivered == 0 && other.skipped == 1 && seen.count == 1)
    #expect(events.allSatisfy { $0.handlerCount == 0 })
  }

  @Test(arguments: [false, true]) func ofTwoEventsThatRaceOneCallsAOnceHandler(isAsync: Bool) async {
    final class Stage: Sendable {
      let (bus, calls) = (EventBus(), Counter())
      let events: [Event<Int>]
      let owner = Owner()
      let tickets = Recorder<SendTicket>()
      init(_ isAsync: Bool) {
        events = (0..<2).compactMap { [bus, owner] in try? bus.event(EventKey<Int>("\($0)"), of: owner) }
        if isAsync {
          bus.all(as: Int.self).addHandler(.once) { [calls] _ async in calls.add() }
        } else {
          bus.all(as: Int.self).addHandler(.once) { [calls] _ in calls.add() }
        }
      }
    }
    let (overlaps, stages) = (Overlaps(), Recorder<Stage>())
    await inRounds(2) {
      overlaps.count > 20
    } prepare: {
      let stage = Stage(isAsync)
      stages.record(stage)
      return stage
    } _: { index, stage in
      overlaps.during { stage.tickets.record(stage.events[index].submit(index)) }
    }
    #expect(stages.count >= 1_000)
    for stage in stages.values {
      await stage.bus.quiesce()
      var delivered = 0
      for ticket in stage.tickets.values { delivered += await ticket.report.delivered }
      #expect(stage.calls.value == 1 && delivered == 1)
      #expect(stage.events.allSatisfy { $0.handlerCount == 0 })
    }
  }

  @Test func anEventThatIsMadeWhileAHandlerIsAddedHasItOnce() async {
    final class Stage: Sendable {
      let (bus, calls, owner) = (EventBus(), Counter(), Owner())
      var event: Event<Int>? { try? bus.event(BusTests.number, of: owner) }
    }
    let (overlaps, stages) = (Overlaps(), Recorder<Stage>())
    await inRounds(3) {
      overlaps.count > 20
    } prepare: {
      let stage = Stage()
      stages.record(stage)
      return stage
    } _: { index, stage in
      overlaps.during {
        if index == 0 { stage.bus.all(as: Int.self).addHandler { _ in stage.calls.add() } } else { _ = stage.event }
      }
    }
    for stage in stages.values {
      stage.event?.post(1)
      #expect(stage.calls.value == 1)
      stage.bus.finish()
    }
  }

  @Test func anEventHasTheHandlerBeforeAnyThreadFindsIt() async {
    final class Stage: Sendable {
      let (bus, calls, owner) = (EventBus(), Counter(), Owner())
      init() { bus.all(as: Int.self).addHandler { [calls] _ in calls.add() } }
    }
    let (overlaps, stages) = (Overlaps(), Recorder<Stage>())
    await inRounds(3) {
      overlaps.count > 20
    } prepare: {
      let stage = Stage()
      stages.record(stage)
      return stage
    } _: { index, stage in
      overlaps.during {
        if index == 0 {
          stage.bus.post(index)
        } else {
          try? stage.bus.event(BusTests.number, of: stage.owner).post(index)
        }
      }
    }
    for stage in stages.values {
      await stage.bus.quiesce()
      #expect(stage.calls.value == 3)
      stage.bus.finish()
    }
  }

  @Test func aHandlerThatIsUsedUpWhileItIsAddedStaysInNoEvent() async throws {
    for _ in 0..<300 {
      let (bus, owner, isAdded) = (EventBus(), Owner(), Gate())
      let events = try (0..<20).map { try bus.event(EventKey<Int>("\($0)"), of: owner) }
      let poster = startThread { while !isAdded.isOpen { for event in events { event.post(1) } } }
      bus.all(as: Int.self).addHandler(.once) { _ in }
      isAdded.open()
      await poster.opened()
      for event in events { event.post(2) }
      #expect(events.allSatisfy { $0.handlerCount == 0 })
    }
  }

  @Test func handlersComeAndGoWhileEventsDo() async {
    let (bus, live) = (EventBus(), LiveCount())
    await onThreads(4) { index in
      for round in 0..<300 {
        if index < 2 {
          let canary = Canary(live)
          let token = bus.all(as: Int.self).addHandler(round % 3 == 0 ? .once : .options()) { _ in canary.sing() }
          if round % 5 != 0 { bus.remove(token) } else { bus.finish() }
        } else {
          let owner = Owner()
          try? bus.event(Self.number, of: owner).post(round)
          if round % 2 == 0 { bus.removeEvents(of: owner) }
          bus.post(round)
        }
      }
    }
    bus.finish()
    #expect(await eventually { live.alive == 0 })
  }
}
