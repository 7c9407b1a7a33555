import Eventing
import Testing

/// Tests of guarantee G17: the tasks of `.task` handlers, and cancellation.
@Suite(.fewAtATime) struct TaskTests {
  @TaskLocal static var request: String?

  // MARK: Child tasks of a send

  @Test func cancellingTheSenderCancelsItsTaskHandlers() async {
    let event = Event<Int>()
    let (began, never, cancelled) = (Countdown(3), Gate(), Recorder<Bool>())
    for _ in 0..<3 {
      event.addHandler(on: .task) { _ in
        began.arrive()
        await never.opened()  // returns when its task is cancelled
        cancelled.record(Task.isCancelled)
      }
    }
    let sender = Task { await event.send(1) }
    await began.opened()
    sender.cancel()
    let report = await comesBack { await sender.value }
    #expect(report?.delivered == 3)
    #expect(cancelled.values == [true, true, true])
  }

  @Test func taskHandlersOfACancelledSenderAreCancelledFromTheBeginning() async {
    let event = Event<Int>()
    let cancelled = Recorder<Bool>()
    event.addHandler(on: .task) { _ in cancelled.record(Task.isCancelled) }
    let report = await inCancelledTask { await event.send(1) }
    #expect(report.delivered == 1)
    #expect(cancelled.values == [true])
  }

  @Test func taskHandlersHaveTheSendersTaskLocalValues() async {
    let event = Event<Int>()
    let seen = Recorder<String?>()
    event.addHandler(on: .task) { _ in
      seen.record(TaskTests.request)
      await Task.yield()
      seen.record(TaskTests.request)
    }
    await TaskTests.$request.withValue("42") { await event.send(1) }
    await event.send(2)
    #expect(seen.values == ["42", "42", nil, nil])
  }

  @Test func taskHandlersOfASendThatHadToWaitForItsTurnAreItsChildrenToo() async {
    let event = Event<Int>()
    let (inside, gate, seen) = (Gate(), Gate(), Recorder<String?>())
    event.addHandler { number in
      guard number == 1 else { return }
      inside.open()
      gate.wait()
    }
    event.addHandler(on: .task) { number in if number == 2 { seen.record(TaskTests.request) } }
    let poster = startThread { event.post(1) }
    await inside.opened()
    let sender = Task { await TaskTests.$request.withValue("42") { await event.send(2) } }
    for _ in 0..<100 { await Task.yield() }
    gate.open()
    #expect(await sender.value.delivered == 2)
    #expect(seen.values == ["42"])
    await poster.opened()
  }

  @Test(arguments: [TaskPriority.low, .medium, .high]) func taskHandlersHaveTheSendersPriority(priority: TaskPriority)
    async
  {
    let event = Event<Int>()
    let seen = Recorder<TaskPriority?>()
    event.addHandler(on: .task) { _ in seen.record(Task.basePriority) }
    let over = Gate()
    Task(priority: priority) {
      await event.send(1)
      over.open()
    }
    await over.opened()
    #expect(seen.values == [priority])
  }

  @Test func taskHandlersHaveThePriorityThatTheyAskFor() async {
    let event = Event<Int>()
    let seen = Recorder<TaskPriority?>()
    event.addHandler(on: .task(priority: .high)) { _ in seen.record(Task.basePriority) }
    event.post(1)
    await event.quiesce()
    let over = Gate()
    Task(priority: .low) {
      await event.send(2)
      over.open()
    }
    await over.opened()
    #expect(seen.values == [.high, .high])
  }

  @Test func taskHandlersHaveFinishedWhenSendReturns() async {
    let event = Event<Int>()
    let finished = Counter()
    for _ in 0..<5 {
      event.addHandler(on: .task) { _ in
        for _ in 0..<20 { await Task.yield() }
        finished.add()
      }
    }
    for round in 1...50 {
      let report = await event.send(round)
      #expect(report.delivered == 5)
      #expect(finished.value == 5 * round)
    }
  }

  @Test func taskHandlersStartWhenTheOccurrenceHasBeenDelivered() async {
    let event = Event<Int>()
    let order = Recorder<String>()
    event.addHandler(on: .task) { _ in order.record("task") }
    event.addHandler { _ in for number in 0..<3 { order.record("inline \(number)") } }
    for _ in 0..<100 {
      await event.send(1)
      #expect(order.values == ["inline 0", "inline 1", "inline 2", "task"])
      order.removeAll()
    }
  }

  // MARK: Tasks of their own

  @Test func taskHandlersOfAPostInheritNothingFromThePoster() async {
    let event = Event<Int>()
    let (locals, cancelled) = (Recorder<String?>(), Recorder<Bool>())
    event.addHandler(on: .task) { _ in
      locals.record(TaskTests.request)
      cancelled.record(Task.isCancelled)
    }
    await inCancelledTask {
      TaskTests.$request.withValue("42") {
        event.post(1)
        _ = event.submit(2)
      }
    }
    await event.quiesce()
    #expect(locals.values == [nil, nil])
    #expect(cancelled.values == [false, false])
  }

  @Test func postReturnsBeforeItsTaskHandlersFinish() async {
    let event = Event<Int>()
    let (gate, finished) = (Gate(), Counter())
    event.addHandler(on: .task) { _ in
      await gate.opened()
      finished.add()
    }
    event.post(1)
    let ticket = event.submit(2)
    #expect(finished.value == 0)
    gate.open()
    #expect(await ticket.report.delivered == 1)
    await event.quiesce()
    #expect(finished.value == 2)
  }

  // MARK: Sends of cancelled tasks

  @Test(arguments: SerialKind.allCases) func sendOfACancelledTaskStillDeliversAndWaits(kind: SerialKind) async {
    let event = Event<Int>()
    let finished = Counter()
    add(kind, to: event) { _ in
      if !kind.isAsync { finished.add() }
    } later: { _ in
      for _ in 0..<20 { await Task.yield() }
      finished.add()
    }
    let others = kind == .actor ? 1 : 0
    await inCancelledTask {
      for round in 1...20 {
        let report = await event.send(round)
        #expect(report.delivered == 1 + others)
        #expect(finished.value == round)
      }
    }
  }

  @Test func sendThatIsCancelledWhileItWaitsStillWaitsForEveryHandler() async {
    let event = Event<Int>()
    let (began, gate, finished) = (Countdown(3), Gate(), Counter())
    let cancelled = Recorder<Bool>()
    event.addHandler(on: .background) { _ in
      began.arrive()
      gate.wait()
      finished.add()
    }
    for delivery in [AsyncDelivery.inOrder, .concurrent(limit: 2)] {
      event.addHandler(on: delivery) { _ in
        began.arrive()
        await gate.opened()
        cancelled.record(Task.isCancelled)
        finished.add()
      }
    }
    let sender = Task {
      let report = await event.send(1)
      return (report.delivered, finished.value)
    }
    await began.opened()
    sender.cancel()
    for _ in 0..<100 { await Task.yield() }
    #expect(finished.value == 0)
    gate.open()
    let (delivered, finishedAtReturn) = await sender.value
    #expect(delivered == 3)
    #expect(finishedAtReturn == 3)
    #expect(cancelled.values == [false, false])  // these tasks are not children of the sender
  }

  @Test func sendOfACancelledTaskToABusyEventWaitsForItsTurn() async {
    let event = Event<Int>()
    let (inside, gate, seen) = (Gate(), Gate(), Recorder<Int>())
    event.addHandler { number in
      if number == 1 {
        inside.open()
        gate.wait()
      }
      seen.record(number)
    }
    let poster = startThread { event.post(1) }
    await inside.opened()
    let sender = cancelledTask {
      let report = await event.send(2)
      return (report.delivered, seen.values)
    }
    for _ in 0..<100 { await Task.yield() }
    gate.open()
    let (delivered, seenAtReturn) = await sender.value
    #expect(delivered == 1)
    #expect(seenAtReturn == [1, 2])
    await poster.opened()
  }

  @Test func reportOfATicketInACancelledTaskStillWaits() async {
    let event = Event<Int>()
    let (gate, finished) = (Gate(), Counter())
    event.addHandler { _ in
      await gate.opened()
      finished.add()
    }
    let ticket = event.submit(1)
    let waiter = cancelledTask {
      let report = await ticket.report
      return (report.delivered, finished.value)
    }
    for _ in 0..<100 { await Task.yield() }
    gate.open()
    let (delivered, finishedAtReturn) = await waiter.value
    #expect(delivered == 1)
    #expect(finishedAtReturn == 1)
  }

  @Test func quiesceInACancelledTaskStillWaits() async {
    let event = Event<Int>()
    let (gate, finished) = (Gate(), Counter())
    event.addHandler { _ in
      await gate.opened()
      finished.add()
    }
    event.post(1)
    let waiter = cancelledTask {
      await event.quiesce()
      return finished.value
    }
    for _ in 0..<100 { await Task.yield() }
    gate.open()
    #expect(await waiter.value == 1)
  }

  @Test func cancellationDuringManySendsLosesNothing() async {
    let event = Event<Int>()
    let (calls, delivered) = (Counter(), Counter())
    event.addHandler(on: .task) { _ in calls.add() }
    event.addHandler { _ async in calls.add() }
    event.addHandler(on: .background) { _ in calls.add() }
    await withTaskGroup(of: Void.self) { group in
      for round in 0..<200 {
        group.addTask {
          let sender = Task { await event.send(round) }
          sender.cancel()
          delivered.add(await sender.value.delivered)
        }
      }
    }
    #expect(delivered.value == 600)
    #expect(calls.value == 600)
  }
}
