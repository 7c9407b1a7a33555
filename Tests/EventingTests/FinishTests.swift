import Dispatch
import Eventing
import Testing

/// G12: an event that is ended on purpose.
@Suite(.timeLimit(.minutes(5))) struct FinishTests {
  @Test func afterFinishSendsReachNobodyAndAddsGiveTokensOfHandlersThatAreGone() async {
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
      #expect(event.isLocked(token) == nil)
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
      event.addHandler { body($0) }, event.once { body($0) }, event.addHandler(named: "name", priority: 2) { body($0) },
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

  @Test func whatWasSentBeforeFinishIsDelivered() async {
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

  @Test func finishedByAHandlerTheOccurrenceStillReachesTheLaterOnes() async {
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
    let tickets = Recorder<Ticket>()
    let events = Recorder<Event<Canary>>()  // so that they end by being finished, and not because they go
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

  // MARK: What lanes still hold when the event has been finished

  @Test(arguments: LaneDelivery.allCases) func aHandlerWhoseLaneStillHoldsSomethingIsThereUntilItHasRun(delivery: LaneDelivery) async {
    let event = Event<Int>()
    let (began, mayEnd) = (Gate(), Gate())
    let handler = delivery.handler(DispatchQueue(label: "test"), until: mayEnd) { began.open() }
    let token = event.attach(handler.named("late"))
    event.post(1)
    await began.opened()
    event.finish()
    #expect(event.contains(token) && event.contains(named: "late"))
    #expect(event.handlerCount == 1)
    #expect(await event.handlers.map(\.id) == [token.id])
    #expect(await event.handlers.map(\.callCount) == [1])
    mayEnd.open()
    await event.quiesce()
    #expect(await eventually { !event.contains(token) })
    #expect(event.handlerCount == 0)
    #expect(await event.handlers.isEmpty)
  }

  @Test(arguments: [true, false]) func whatLanesStillHoldCanBeRemovedByEveryBulkVerb(isLate: Bool) async {
    for verb in ["name", "tag", "owner", "all"] {
      let event = Event<Int>()
      let (queue, seen, owner) = (DispatchQueue(label: "test"), Recorder<Int>(), LiveCount())
      event.add(Handler(on: .queue(queue)) { seen.record($0) }.named("name").tagged("tag").owned(by: owner))
      queue.suspend()
      event.post(1)
      event.finish()
      if isLate { _ = await event.handlers }
      let count =
        switch verb {
        case "name": event.remove(named: "name")
        case "tag": event.remove(tagged: "tag")
        case "owner": event.remove(ownedBy: owner)
        default: event.removeAll()
        }
      #expect(count == 1, "\(verb)")
      #expect(event.removeAll() == 0)
      queue.resume()
      await event.quiesce()
      #expect(seen.values == [], "\(verb)")
    }
  }

  @Test func whatLanesStillHoldCanBeLockedAndUnlocked() async {
    let event = Event<Int>()
    let (queue, seen) = (DispatchQueue(label: "test"), Recorder<Int>())
    event.add(Handler(on: .queue(queue)) { seen.record($0) }.named("name"))
    queue.suspend()
    event.post(1)
    event.finish()
    #expect(event.lock(named: "name") == 1)
    #expect(await event.lockedHandlers.count == 1)
    #expect(event.unlockAll() == 1)
    #expect(event.lockAll() == 1)
    queue.resume()
    await event.quiesce()
    #expect(seen.values == [])
  }

  @Test(arguments: [true, false]) func theEventsOwnLockHoldsForWhatLanesStillHold(isUnlocked: Bool) async {
    let event = Event<Int>()
    let (queue, seen) = (DispatchQueue(label: "test"), Recorder<Int>())
    event.addHandler(on: .queue(queue)) { seen.record($0) }
    queue.suspend()
    let ticket = event.submit(1)
    event.lock()
    event.finish()
    event.unlock()
    if !isUnlocked { event.lock() }
    queue.resume()
    let report = await ticket.report
    #expect(report.delivered == (isUnlocked ? 1 : 0))
    #expect(report.skipped == (isUnlocked ? 0 : 1))
    #expect(seen.values == (isUnlocked ? [1] : []))
  }

  @Test func aSkipIsCountedWhetherTheEventOrTheLaneSkips() async {
    let event = Event<Int>()
    let (queue, seen) = (DispatchQueue(label: "test"), Recorder<Int>())
    let token = event.addHandler(on: .queue(queue)) { seen.record($0) }
    event.lock(token)
    event.post(1)
    event.unlock(token)
    queue.suspend()
    event.post(2)
    event.finish()
    #expect(await event.handlers.map(\.skippedCount) == [1])
    queue.resume()
    await event.quiesce()
    #expect(seen.values == [2])
  }

  @Test(arguments: LaneDelivery.allCases) func quiesceWaitsForACallWhoseHandlerWasRemovedAfterFinish(delivery: LaneDelivery) async {
    let event = Event<Int>()
    let steps = StepExecutor()
    let (began, mayEnd, returned) = (Gate(), Gate(), Gate())
    let token = event.attach(delivery.handler(DispatchQueue(label: "test"), until: mayEnd) { began.open() })
    event.post(1)
    await began.opened()
    event.finish()
    #expect(event.remove(token))
    let waiting = Task(executorPreference: steps) {
      await event.quiesce()
      returned.open()
    }
    await steps.run()
    #expect(!returned.isOpen)
    mayEnd.open()
    while !returned.isOpen, !Task.isCancelled { await steps.run() }
    await waiting.value
  }

  @Test func lanesThatEndWhileThreadsLookLockAndRemoveLeaveNothing() async {
    let overlaps = Overlaps()
    let closures = LiveCount()
    let events = Recorder<Event<Int>>()
    let removed = Counter()
    await inRounds(3, until: { overlaps.count > 100 }) {
      let event = Event<Int>()
      events.record(event)
      let canary = Canary(closures)
      for _ in 0..<4 { event.add(Handler(on: .background) { _ in canary.sing() }.named("name")) }
      for number in 0..<4 { event.post(number) }
      return event
    } _: { thread, event in
      overlaps.during {
        switch thread {
        case 0: event.finish()
        case 1:
          event.lock()
          event.lock(named: "name")
          event.unlock()
          event.unlock(named: "name")
        default: removed.add(event.remove(named: "name") + event.handlerCount)
        }
      }
    }
    #expect(await eventually { closures.alive == 0 })
    #expect(events.values.allSatisfy { $0.handlerCount == 0 })
    #expect(overlaps.count > 10)
  }
}
