import Eventing
import Testing

extension SendCompletionTests {
  // MARK: A handler that sends to its own event

  @Test(arguments: SerialKind.asynchronous) func sendToTheHandlersOwnEventIsDeferred(kind: SerialKind) async throws {
    let event = Event<Int>()
    let (inner, calls) = (Recorder<SendReport>(), Recorder<Int>())
    let stage = Stage()
    add(kind, to: event, stage: stage) {
      calls.record($0)
    } later: { number in
      if number == 1 { inner.record(await event.send(2)) }
    }
    let others = kind == .actor ? 1 : 0  // for `.actor`, `add` adds a second handler, which keeps the actor alive
    let outer = try #require(await comesBack { await event.send(1) })
    #expect(outer.delivered == 1 + others)
    #expect(outer.deferred == 0)
    let report = try #require(inner.values.first)
    #expect(report.deferred == 1)
    #expect(report.delivered == others)
    await event.quiesce()
    #expect(calls.values == [1, 2])
  }

  @Test func sendToTheHandlersOwnEventIsDeliveredOnAFreeSlot() async throws {
    let event = Event<Int>()
    let inner = Recorder<SendReport>()
    event.addHandler(on: .concurrent(limit: 2)) { number in
      if number == 1 { inner.record(await event.send(2)) }
    }
    await comesBack { await event.send(1) }
    #expect(inner.values.map(\.delivered) == [1])
    #expect(inner.values.map(\.deferred) == [0])
  }

  @Test func sendToItsOwnEventFromATaskHandlerIsDelivered() async throws {
    let event = Event<Int>()
    let reports = Recorder<SendReport>()
    event.addHandler(on: .task) { number in
      if number < 5 { reports.record(await event.send(number + 1)) }
    }
    await comesBack { await event.send(1) }
    #expect(reports.values.map(\.delivered) == [1, 1, 1, 1])
  }

  @Test func sendToItsOwnBusyEventIsDeferred() async throws {
    let event = Event<Int>()
    let (inside, gate, sending) = (Gate(), Gate(), Gate())
    let (inner, calls) = (Recorder<SendReport>(), Recorder<Int>())
    event.addHandler { number in
      if number == 2 {
        inside.open()
        gate.wait()
      }
    }
    event.addHandler { number in
      calls.record(number)
      guard number == 1 else { return }
      await inside.opened()  // from now on the event is busy with 2
      sending.open()
      inner.record(await event.send(3))
    }
    event.post(1)
    let poster = startThread { event.post(2) }
    await sending.opened()
    for _ in 0..<100 { await Task.yield() }
    gate.open()
    await comesBack { await event.quiesce() }  // waits for the call with 1, which ends after its send of 3
    await comesBack { await event.quiesce() }
    #expect(inner.values.map(\.deferred) == [1])
    #expect(inner.values.map(\.delivered) == [1])
    #expect(calls.values == [1, 2, 3])
    await poster.opened()
  }

  @Test func sendInAHandlerWaitsForTheOtherHandlers() async throws {
    let event = Event<Int>()
    let (inner, finished) = (Recorder<SendReport>(), Recorder<Int>())
    event.addHandler { number in
      if number == 1 { inner.record(await event.send(2)) }
    }
    event.addHandler { number in
      for _ in 0..<20 { await Task.yield() }
      finished.record(number)
    }
    await comesBack { await event.send(1) }
    let report = try #require(inner.values.first)
    #expect(report.delivered == 1)
    #expect(report.deferred == 1)
    #expect(finished.values == [1, 2])
  }

  // MARK: Cycles over several events

  @Test func twoHandlersThatAwaitSendsToEachOthersEventReturn() async throws {
    let (first, second) = (Event<Int>(), Event<Int>())
    let (fromSecond, calls) = (Recorder<SendReport>(), Recorder<String>())
    first.addHandler { number in
      calls.record("first \(number)")
      if number < 2 { await second.send(number + 1) }
    }
    second.addHandler { number in
      calls.record("second \(number)")
      fromSecond.record(await first.send(number + 1))
    }
    let outer = try #require(await comesBack { await first.send(0) })
    #expect(outer.delivered == 1)
    #expect(fromSecond.values.map(\.deferred) == [1])
    await first.quiesce()
    #expect(calls.values == ["first 0", "second 1", "first 2"])
  }

  @Test(arguments: SerialKind.asynchronous, SerialKind.asynchronous)
  func twoHandlersThatSendToEachOthersEventAtTheSameTimeReturn(one: SerialKind, other: SerialKind) async {
    let (first, second) = (Event<Int>(), Event<Int>())
    let (firstCalls, secondCalls, waited) = (Counter(), Counter(), Counter())
    let stage = Stage()
    add(one, to: first, stage: stage) { _ in
      firstCalls.add()
    } later: { number in
      if number == 0 { waited.add(await second.send(1).deferred) }
    }
    add(other, to: second, stage: stage) { _ in
      secondCalls.add()
    } later: { number in
      if number == 0 { waited.add(await first.send(1).deferred) }
    }
    await comesBack {
      for _ in 0..<20 {
        async let a = first.send(0)
        async let b = second.send(0)
        _ = await (a, b)
      }
    }
    await comesBack {
      await first.quiesce()
      await second.quiesce()
    }
    #expect(firstCalls.value == 40)
    #expect(secondCalls.value == 40)
  }

  @Test func cycleOverThreeEventsIsDeferredAtItsLastStep() async throws {
    let events = (0..<3).map { _ in Event<Int>() }
    let (reports, calls) = (Recorder<SendReport>(), Recorder<Int>())
    for index in 0..<3 {
      events[index].addHandler { number in
        calls.record(number)
        if number < 3 { reports.record(await events[(index + 1) % 3].send(number + 1)) }
      }
    }
    let outer = try #require(await comesBack { await events[0].send(0) })
    #expect(outer.delivered == 1)
    #expect(reports.values.map(\.deferred) == [1, 0, 0])
    #expect(reports.values.map(\.delivered) == [0, 1, 1])
    await events[0].quiesce()
    #expect(calls.values == [0, 1, 2, 3])
  }

  @Test func longChainBackToItsBeginningIsDeferredAtItsLastStep() async throws {
    let events = (0..<60).map { _ in Event<Int>() }
    let deferred = Recorder<Int>()
    for index in 0..<60 {
      events[index].addHandler { number in
        if number < 60 { deferred.record(await events[(index + 1) % 60].send(number + 1).deferred) }
      }
    }
    await comesBack { await events[0].send(0) }
    #expect(deferred.values == [1] + Array(repeating: 0, count: 59))
  }

  @Test func cycleIsFollowedThroughChildTasks() async {
    let (first, second) = (Event<Int>(), Event<Int>())
    let deferred = Recorder<Int>()
    first.addHandler { number in
      guard number == 0 else { return }
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<3 { group.addTask { await second.send(0) } }
      }
    }
    second.addHandler { _ in
      async let report = first.send(1)
      deferred.record(await report.deferred)
    }
    await comesBack { await first.send(0) }
    #expect(deferred.values == [1, 1, 1])
  }

  @Test func cycleIsFollowedThroughUnstructuredTasks() async {
    let (first, second) = (Event<Int>(), Event<Int>())
    let deferred = Recorder<Int>()
    first.addHandler { number in
      if number == 0 { await Task { _ = await second.send(0) }.value }
    }
    second.addHandler { _ in
      let report = await Task { await Task { await first.send(1) }.value }.value
      deferred.record(report.deferred)
    }
    await comesBack { await first.send(0) }
    #expect(deferred.values == [1])
  }

  @Test func cycleThroughATaskHandlerIsDeferred() async {
    let (first, second) = (Event<Int>(), Event<Int>())
    let deferred = Recorder<Int>()
    first.addHandler { number in
      if number == 0 { await second.send(0) }
    }
    second.addHandler(on: .task) { _ in deferred.record(await first.send(1).deferred) }
    second.addHandler(on: .task(priority: .high)) { _ in deferred.record(await first.send(1).deferred) }
    await comesBack { await first.send(0) }
    #expect(deferred.values == [1, 1])
  }

  /// A ticket waits from the moment on when its report is asked for. So either of the two calls may
  /// be the one that closes the cycle.
  @Test func cycleThroughATicketIsDeferred() async {
    let (first, second) = (Event<Int>(), Event<Int>())
    let deferred = Recorder<Int>()
    first.addHandler { number in
      if number == 0 { deferred.record(await second.submit(0).report.deferred) }
    }
    second.addHandler { _ in deferred.record(await first.submit(1).report.deferred) }
    await comesBack { await first.send(0) }
    await comesBack { await second.quiesce() }
    #expect(deferred.values.sorted() == [0, 1])
  }

  @Test func cycleThroughACallThatLeavesASlotFreeIsDeferred() async {
    // The lane of `second` has a free execution slot. But the send to `second` waits for the call
    // that already runs on the other slot, so that slot is part of the cycle.
    let (first, second) = (Event<Int>(), Event<Int>())
    let deferred = Recorder<Int>()
    first.addHandler { number in
      if number == 0 { await second.send(0) }
    }
    second.addHandler(on: .concurrent(limit: 2)) { _ in deferred.record(await first.send(1).deferred) }
    await comesBack { await first.send(0) }
    #expect(deferred.values == [1])
  }
}

#if DEBUG
  extension SendCompletionTests {
    // MARK: Reports of cycles in debug builds

    @Test func handlerThatWouldWaitForItselfIsReportedOnce() async {
      let told = Recorder<String>()
      CycleReport.alsoTell { told.record($0) }
      let (ping, pong, reports) = (Event<Int>(), Event<Int>(), Recorder<SendReport>())
      ping.addHandler(.named("toldPing")) { number in await pong.send(number) }
      pong.addHandler(.named("toldPong")) { number in reports.record(await ping.send(number + 1)) }
      pong.addHandler(.named("toldStop")) { [weak ping] number in if number > 2 { ping?.removeAll() } }
      await comesBack { await ping.send(1) }
      await comesBack { await ping.quiesce() }
      #expect(reports.values.first?.deferred == 1)
      let lines = told.values.filter { $0.contains("told") }
      #expect(lines.count == 1)
      #expect(
        lines.first?.hasPrefix(
          "handler \"toldPong\" waits for an event, by send or quiesce, but that waits for handler \"toldPing\""
        ) == true)
    }
  }
#endif
