import Dispatch
import Eventing
import Testing

// Each test forces one interleaving in which a wrong implementation would fail. There are seven
// such interleavings, numbered in MARK comments. Interleavings 1, 5 and 7 hold a thread at a sync
// point of the library, so they are in `SyncPointTests`, in other files.

@Suite(.fewAtATime) struct HandOverTests {
  // MARK: 2. A post of another thread before a nested post

  @Test func aNestedPostBehindAnotherThreadsPostIsHandedOverWithThatPost() async {
    // Thread A posts 1. While the handler runs, thread B posts 2, and then the handler posts 3. A
    // leaves without delivering 2 or 3, and posts 4. The event's queue delivers 2, 3 and 4.
    let event = Event<Int>()
    let (inside, second, draining, goOn) = (Gate(), Gate(), Gate(), Gate())
    let (seen, threads) = (Recorder<Int>(), ConditionLock<[Int: ThreadNumber]>([:]))
    let atReturn = ConditionLock<[Int]?>(nil)
    event.addHandler { number in
      seen.record(number)
      threads.withLock { $0[number] = .current }
      switch number {
      case 1:
        inside.open()
        second.wait()
        event.post(3)
      case 2:
        draining.open()
        goOn.wait()
      default: break
      }
    }
    let a = ConditionLock<ThreadNumber?>(nil)
    let posterA = startThread {
      a.withLock { $0 = .current }
      event.post(1)
      draining.wait()
      event.post(4)
      let now = seen.values
      atReturn.withLock { $0 = now }
      goOn.open()
    }
    await inside.opened()
    await startThread { event.post(2) }.opened()
    #expect(seen.values == [1])  // B has not delivered 2
    second.open()
    await posterA.opened()
    await event.quiesce()
    #expect(seen.values == [1, 2, 3, 4])
    #expect(atReturn.withLock { $0 } == [1, 2])
    #expect(threads.withLock { $0[1] } == a.withLock { $0 })
    for number in 2...4 { #expect(threads.withLock { $0[number] != $0[1] }) }
  }

  @Test func aNestedPostBeforeAnotherThreadsPostIsDeliveredByItsOwnThread() async {
    // The poster delivers the posts of its own handlers, up to the first item that another thread
    // enqueued.
    let event = Event<Int>()
    let (inside, second) = (Gate(), Gate())
    let (seen, threads) = (Recorder<Int>(), ConditionLock<[Int: ThreadNumber]>([:]))
    event.addHandler { number in
      seen.record(number)
      threads.withLock { $0[number] = .current }
      guard number == 1 else { return }
      event.post(2)
      inside.open()
      second.wait()
      event.post(4)
    }
    let poster = startThread { event.post(1) }
    await inside.opened()
    await startThread { event.post(3) }.opened()
    second.open()
    await poster.opened()
    await event.quiesce()
    #expect(seen.values == [1, 2, 3, 4])
    #expect(threads.withLock { $0[2] == $0[1] })
    #expect(threads.withLock { $0[3] != $0[1] && $0[4] != $0[1] })
  }

  // MARK: 3. A handler that runs on a queue, is locked during one post, and then removed

  @Test func laneWithALockWindowAndARemoval() async throws {
    let queue = DispatchQueue(label: "lane")
    let live = LiveCount()
    let (calls, began, gate) = (Recorder<Int>(), Gate(), Gate())
    let reports: [SendReport]
    do {
      let event = Event<Int>()
      let canary = Canary(live)
      let token = event.addHandler(on: .queue(queue)) { number in
        canary.sing()
        calls.record(number)
        began.open()
        gate.wait()
      }
      queue.suspend()
      let first = event.submit(1)
      event.lock(token)
      let second = await comesBack { await event.send(2) }  // returns at once: skipped
      #expect(second?.skipped == 1)
      event.unlock(token)
      let third = event.submit(3)
      queue.resume()
      await began.opened()
      #expect(event.remove(token))
      gate.open()
      reports = [await first.report, try #require(second), await third.report]
    }
    #expect(calls.values == [1])
    #expect(reports.map(\.sequence) == [1, 2, 3])
    #expect(reports.map(\.delivered) == [1, 0, 0])
    #expect(reports.map(\.skipped) == [0, 1, 1])
    #expect(await eventually { live.alive == 0 })
  }

  @Test func eventThatIsReleasedWhileItsLaneRuns() async {
    let queue = DispatchQueue(label: "lane")
    let (handlers, events) = (LiveCount(), LiveCount())
    let (calls, began, gate) = (Recorder<Int>(), Gate(), Gate())
    let tickets: [SendTicket]
    do {
      let event = Event<Int>()
      let canary = Canary(handlers)
      let other = Canary(events)
      event.addHandler(on: .queue(queue)) { number in
        canary.sing()
        calls.record(number)
        began.open()
        gate.wait()
      }
      event.addHandler { _ in other.sing() }
      tickets = (1...3).map { event.submit($0) }
      await began.opened()
    }
    #expect(await eventually { events.alive == 0 })  // the event and its inline handler are released
    #expect(handlers.alive == 1)
    gate.open()
    for ticket in tickets { #expect(await ticket.report.delivered == 2) }
    #expect(await eventually { handlers.alive == 0 })
    #expect(calls.values == [1, 2, 3])
  }

  // MARK: 4. A hop between claim and call

  @MainActor @Test func nothingBeginsAfterARemovalOnTheMainActor() async {
    let event = Event<Int>()
    let (executor, calls) = (StepExecutor(), Counter())
    let token = executor.adding {
      event.addHandler(on: .main) { _ in
        calls.add()
        await Task.yield()
      }
    }
    event.post(1)
    // The executor runs the jobs of the lane that do not need the main actor. Meanwhile this test
    // blocks the main actor.
    executor.runWhileThisIsHeld()
    #expect(event.remove(token))
    await executor.runUntilQuiet(event)
    #expect(calls.value == 0)
  }

  @MainActor @Test func nothingBeginsAfterALockOnTheMainActor() async {
    let event = Event<Int>()
    let (executor, calls) = (StepExecutor(), Recorder<Int>())
    let token = executor.adding {
      event.addHandler(on: .main) { number in
        calls.record(number)
        await Task.yield()
      }
    }
    let ticket = event.submit(1)
    executor.runWhileThisIsHeld()
    #expect(event.lock(token))
    await executor.runUntilQuiet(event)
    #expect(calls.values == [])
    #expect(await ticket.report.skipped == 1)
    event.unlock(token)
    event.post(2)
    await executor.runUntilQuiet(event)
    #expect(calls.values == [2])
  }

  @MainActor @Test func nothingBeginsAfterARemovalOnTheMainActorWhileOthersPost() async {
    // No `StepExecutor` forces an interleaving here: the system decides when each call begins on
    // the main actor. So there are 300 rounds, with a random number of yields before the removals.
    let late = Counter()
    for _ in 0..<300 {
      let event = Event<Int>()
      let isRemoved = Gate()
      let asynchronous = event.addHandler(on: .main) { _ in
        if isRemoved.isOpen { late.add() }
        await Task.yield()
      }
      let synchronous = event.addHandler(on: .main) { _ in if isRemoved.isOpen { late.add() } }
      let poster = startThread { for number in 0..<5 { event.post(number) } }
      for _ in 0..<Int.random(in: 0..<8) { await Task.yield() }
      event.remove(asynchronous)
      event.remove(synchronous)
      isRemoved.open()
      await poster.opened()
      await event.quiesce()
    }
    #expect(late.value == 0)
  }

  @Test func nothingBeginsAfterARemovalOnTheHandlersActor() async {
    let (event, stage) = (Event<Int>(), Stage())
    let (executor, calls) = (StepExecutor(), Counter())
    let token = executor.adding { event.addHandler(isolatedTo: stage) { _, _ in calls.add() } }
    event.post(1)
    await stage.hold {
      executor.runWhileThisIsHeld()
      #expect(event.remove(token))
    }
    await executor.runUntilQuiet(event)
    #expect(calls.value == 0)
  }

  @Test func nothingBeginsAfterARemovalOnTheHandlersQueue() async {
    let late = Counter()
    for _ in 0..<300 {
      let (event, queue) = (Event<Int>(), DispatchQueue(label: "own"))
      let isRemoved = Gate()
      let token = event.addHandler(on: .queue(queue)) { _ in if isRemoved.isOpen { late.add() } }
      let poster = startThread { for number in 0..<5 { event.post(number) } }
      await withCheckedContinuation { continuation in
        queue.async {
          event.remove(token)
          isRemoved.open()
          continuation.resume()
        }
      }
      await poster.opened()
      await event.quiesce()
    }
    #expect(late.value == 0)
  }

  // MARK: 6. A queued add that is removed

  @Test func queuedAddThatIsRemovedIsNeverCalledAndReleasedOnce() async {
    let event = Event<Int>()
    let (inside, gate) = (Gate(), Gate())
    let (live, calls) = (LiveCount(), Counter())
    let deinits = Counter()
    event.addHandler { number in
      guard number == 1 else { return }
      inside.open()
      gate.wait()
    }
    let poster = startThread { event.post(1) }
    await inside.opened()
    do {
      let canary = Canary(live) { deinits.add() }
      event.addHandler(.named("x")) { _ in
        canary.sing()
        calls.add()
      }
      event.addHandler(.named("x"), on: .background) { _ in
        canary.sing()
        calls.add()
      }
    }
    #expect(event.removeAll(where: .named("x")) == 2)
    #expect(event.removeAll(where: .named("x")) == 0)
    event.post(2)
    gate.open()
    await poster.opened()
    await event.quiesce()
    await event.send(3)
    #expect(calls.value == 0)
    #expect(await eventually { live.alive == 0 })
    #expect(deinits.value == 1)
    #expect(event.handlerCount == 1)
  }

  @Test func queuedAddThatIsLockedIsSkippedFromTheBeginning() async {
    let event = Event<Int>()
    let (inside, gate, calls) = (Gate(), Gate(), Recorder<Int>())
    event.addHandler { number in
      guard number == 1 else { return }
      inside.open()
      gate.wait()
    }
    let poster = startThread { event.post(1) }
    await inside.opened()
    event.addHandler(.named("x")) { calls.record($0) }
    #expect(event.lockAll(where: .named("x")) == 1)
    event.post(2)
    gate.open()
    await poster.opened()
    await event.quiesce()
    event.unlockAll(where: .named("x"))
    await event.send(3)
    #expect(calls.values == [3])
  }
}
