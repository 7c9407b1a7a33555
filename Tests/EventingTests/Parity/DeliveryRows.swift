import Dispatch
import Eventing
import Testing

/// Tests of features 85 to 92 of AFFEvent, IKEvents and emitter-kit: where handlers run.
@Suite(.fewAtATime) struct DeliveryRows {
  @TaskLocal private static var request: String?

  @Test("85: a handler runs on the caller's thread before post returns")
  func aHandlerRunsOnTheCallersThreadBeforePostReturns() {
    let event = Event<Int>()
    let threads = Recorder<ThreadNumber>()
    event.addHandler { _ in threads.record(.current) }
    event.post(1)
    #expect(threads.values == [.current])
  }

  @Test("86: a handler runs on the main actor, one call at a time, in order")
  func aHandlerRunsOnTheMainActorOneCallAtATimeInOrder() async {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    event.addHandler(on: .main) { number in
      MainActor.preconditionIsolated()
      seen.record(number)
    }
    await onThread { for number in 0..<100 { event.post(number) } }
    await event.quiesce()
    #expect(seen.values == Array(0..<100))
  }

  @Test("87: a background handler runs elsewhere, in order")
  func aBackgroundHandlerRunsElsewhereInOrder() async {
    let event = Event<Int>()
    let (seen, gate) = (Recorder<Int>(), Gate())
    event.addHandler(on: .background) { number in
      gate.wait()
      seen.record(number)
    }
    for number in 0..<100 { event.post(number) }
    #expect(seen.values == [])  // this thread made no call: all calls wait on the lane
    gate.open()
    await event.quiesce()
    #expect(seen.values == Array(0..<100))
  }

  @Test("87: concurrent calls of a handler overlap up to its limit")
  func concurrentCallsOfAHandlerOverlapUpToItsLimit()
    async
  {
    let event = Event<Int>()
    let (crowd, both) = (Crowd(), Countdown(2))
    event.addHandler(on: .concurrent(limit: 2)) { _ in
      crowd.enter()
      both.arrive()
      await both.opened()  // the first two wait for each other
      crowd.leave()
    }
    for number in 0..<10 { event.post(number) }
    await comesBack { await event.quiesce() }
    #expect(crowd.peak == 2)
  }

  @Test("88: a handler runs on the queue that is chosen")
  func aHandlerRunsOnTheQueueThatIsChosen() async {
    let event = Event<Int>()
    let (queue, key) = (DispatchQueue(label: "mine"), DispatchSpecificKey<String>())
    queue.setSpecific(key: key, value: "mine")
    let seen = Recorder<String?>()
    event.addHandler(on: .queue(queue)) { _ in seen.record(DispatchQueue.getSpecific(key: key)) }
    event.addHandler { _ in seen.record(DispatchQueue.getSpecific(key: key)) }
    await event.send(1)
    #expect(seen.values.contains("mine"))
    #expect(seen.values.contains(nil))
  }

  @Test("88: a handler has the priority that is chosen")
  func aHandlerHasThePriorityThatIsChosen() async {
    let event = Event<Int>()
    let priorities = Recorder<TaskPriority>()
    event.addHandler(on: .background(.high)) { _ in }
    event.addHandler(on: .inOrder(priority: .low)) { _ async in priorities.record(Task.currentPriority) }
    await onThread { event.post(1) }  // this thread runs no task whose priority the handler could inherit
    #expect(await eventually { priorities.count == 1 })
    #expect(priorities.values == [.low])
    #expect(await event.handlers().map(\.delivery) == ["background(high)", "in order(utility)"])
  }

  @Test("89: a task handler is a child task of its sender")
  func aTaskHandlerIsAChildTaskOfItsSender() async {
    let event = Event<Int>()
    let (began, never, seen) = (Gate(), Gate(), Recorder<String>())
    event.addHandler(on: .task(priority: .high)) { _ in
      began.open()
      await never.opened()  // returns when its task is cancelled
      seen.record("\(Self.request ?? "") \(Task.isCancelled)")
    }
    let sender = Task { await DeliveryRows.$request.withValue("42") { await event.send(1) } }
    await began.opened()
    sender.cancel()
    #expect(await comesBack { await sender.value }?.delivered == 1)
    #expect(seen.values == ["42 true"])
  }

  @Test("89: asynchronous calls of a handler come in order")
  func asynchronousCallsOfAHandlerComeInOrder() async {
    let event = Event<Int>()
    let (seen, crowd) = (Recorder<Int>(), Crowd())
    event.addHandler { number in
      crowd.enter()
      await Task.yield()
      seen.record(number)
      crowd.leave()
    }
    for number in 0..<100 { event.post(number) }
    await event.quiesce()
    #expect(seen.values == Array(0..<100))
    #expect(crowd.peak == 1)
  }

  @Test("90: a slow handler holds up neither its sender nor the others")
  func aSlowHandlerHoldsUpNeitherItsSenderNorTheOthers() async {
    let event = Event<Int>()
    let (gate, slow, quick) = (Gate(), Recorder<Int>(), Recorder<Int>())
    event.addHandler(on: .background) { number in
      gate.wait()
      slow.record(number)
    }
    event.addHandler(on: .background) { quick.record($0) }
    for number in 0..<100 { event.post(number) }
    #expect(await eventually { quick.count == 100 })
    #expect(slow.count == 0)
    gate.open()
    await event.quiesce()
    #expect(slow.count == 100)
  }

  @Test("91: every call may be made from any thread")
  func everyCallMayBeMadeFromAnyThread() async {
    let event = Event<Int>()
    let (kept, lane) = (Counter(), Counter())
    event.addHandler { _ in kept.add() }
    event.addHandler(on: .background) { _ in lane.add() }
    await onThreads(4) { index in
      for number in 0..<250 {
        let token = event.addHandler(.named("\(index)")) { _ in }
        event.post(number)
        event.lock(token)
        _ = event.isLocked(token)
        if number % 2 == 0 { event.remove(token) } else { event.removeAll(where: .named("\(index)")) }
      }
    }
    await event.quiesce()
    #expect(kept.value == 1_000)
    #expect(lane.value == 1_000)
    #expect(event.handlerCount == 2)
  }

  @MainActor @Test("92: a worker that the main thread waits for may send")
  func aWorkerThatTheMainThreadWaitsForMaySend() async {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    event.addHandler(on: .main) { seen.record($0) }
    let posted = startThread { event.post(1) }
    holdMainActor(until: posted)
    #expect(seen.values == [])
    await event.quiesce()
    #expect(seen.values == [1])
  }

  @MainActor private func holdMainActor(until gate: Gate) { gate.wait() }
}
