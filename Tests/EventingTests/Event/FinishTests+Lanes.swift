import Dispatch
import Eventing
import Testing

extension FinishTests {
  // MARK: Lanes that still have work when the event is finished

  @Test(arguments: LaneDelivery.allCases) func aHandlerWhoseLaneStillHasWorkIsInTheEventUntilThatHasRun(
    delivery: LaneDelivery
  ) async {
    let event = Event<Int>()
    let (began, mayEnd) = (Gate(), Gate())
    let handler = delivery.handler(DispatchQueue(label: "test"), until: mayEnd) { began.open() }
    let token = event.add(handler.with(.named("late")))
    event.post(1)
    await began.opened()
    event.finish()
    #expect(event.contains(token) && event.contains(where: .named("late")))
    #expect(event.handlerCount == 1)
    #expect(await event.handlers().map(\.id) == [token.id])
    #expect(await event.handlers().map(\.callCount) == [1])
    mayEnd.open()
    await event.quiesce()
    #expect(await eventually { !event.contains(token) })
    #expect(event.handlerCount == 0)
    #expect(await event.handlers().isEmpty)
  }

  @Test(arguments: [true, false]) func workLeftOnLanesCanBeRemovedByEveryBulkVerb(isLate: Bool) async {
    for verb in ["name", "tag", "owner", "all"] {
      let event = Event<Int>()
      let (queue, seen, owner) = (DispatchQueue(label: "test"), Recorder<Int>(), LiveCount())
      event.addHandler(.named("name"), .tagged("tag"), on: .queue(queue), owner: owner) { _, number in
        seen.record(number)
      }
      queue.suspend()
      event.post(1)
      event.finish()
      if isLate { _ = await event.handlers() }
      let count =
        switch verb {
        case "name": event.removeAll(where: .named("name"))
        case "tag": event.removeAll(where: .tagged("tag"))
        case "owner": event.removeAll(where: .ownedBy(owner))
        default: event.removeAll()
        }
      #expect(count == 1, "\(verb)")
      #expect(event.removeAll() == 0)
      queue.resume()
      await event.quiesce()
      #expect(seen.values == [], "\(verb)")
    }
  }

  @Test func workLeftOnLanesCanBeLockedAndUnlocked() async {
    let event = Event<Int>()
    let (queue, seen) = (DispatchQueue(label: "test"), Recorder<Int>())
    event.addHandler(.named("name"), on: .queue(queue)) { seen.record($0) }
    queue.suspend()
    event.post(1)
    event.finish()
    #expect(event.lockAll(where: .named("name")) == 1)
    #expect(await event.handlers().filter(\.isLocked).count == 1)
    #expect(event.unlockAll() == 1)
    #expect(event.lockAll() == 1)
    queue.resume()
    await event.quiesce()
    #expect(seen.values == [])
  }

  @Test(arguments: [true, false]) func theEventLockAppliesToWorkLeftOnLanes(isUnlocked: Bool) async {
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
    #expect(await event.handlers().map(\.skippedCount) == [1])
    queue.resume()
    await event.quiesce()
    #expect(seen.values == [2])
  }

  @Test(arguments: LaneDelivery.allCases) func quiesceWaitsForACallWhoseHandlerWasRemovedAfterFinish(
    delivery: LaneDelivery
  ) async {
    let event = Event<Int>()
    let steps = StepExecutor()
    let (began, mayEnd, returned) = (Gate(), Gate(), Gate())
    let token = event.add(delivery.handler(DispatchQueue(label: "test"), until: mayEnd) { began.open() })
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

  @Test func aHandlerIsCountedOnceWhileItsEventIsBeingFinished() async {
    let event = Event<Int>()
    let (queue, closures) = (DispatchQueue(label: "test"), LiveCount())
    let counts = Recorder<Int>()
    event.addHandler(.named("lane"), on: .queue(queue)) { _ in }
    do {
      let canary = Canary(closures) { [weak event] in
        counts.record(event?.lockAll(where: .named("lane")) ?? 0)
        counts.record(event?.handlerCount ?? 0)
      }
      event.addHandler { _ in canary.sing() }
    }
    event.addHandler { _ in }
    event.addHandler { _ in }
    queue.suspend()
    event.post(1)
    event.finish()
    #expect(counts.values == [1, 3])
    queue.resume()
    await event.quiesce()
  }

  @Test func lanesThatEndWhileThreadsInspectLockAndRemoveLeaveNothing() async {
    let overlaps = Overlaps()
    let closures = LiveCount()
    let events = Recorder<Event<Int>>()
    let removed = Counter()
    await inRounds(3, until: { overlaps.count > 100 }) {
      let event = Event<Int>()
      events.record(event)
      let canary = Canary(closures)
      for _ in 0..<4 { event.addHandler(.named("name"), on: .background) { _ in canary.sing() } }
      for number in 0..<4 { event.post(number) }
      return event
    } _: { thread, event in
      overlaps.during {
        switch thread {
        case 0: event.finish()
        case 1:
          event.lock()
          event.lockAll(where: .named("name"))
          event.unlock()
          event.unlockAll(where: .named("name"))
        default: removed.add(event.removeAll(where: .named("name")) + event.handlerCount)
        }
      }
    }
    #expect(await eventually { closures.alive == 0 })
    #expect(events.values.allSatisfy { $0.handlerCount == 0 })
    #expect(overlaps.count > 10)
  }
}
