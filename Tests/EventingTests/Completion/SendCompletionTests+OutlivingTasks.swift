import Eventing
import Synchronization
import Testing

private final class Flag: Sendable {
  let isSet = Atomic<Bool>(false)
}

extension SendCompletionTests {
  // MARK: Tasks that outlive their call

  @Test func taskThatOutlivesItsCallIsWaitedForNormally() async throws {
    let event = Event<Int>()
    let (isOver, reports, finished) = (Gate(), Recorder<SendReport>(), Recorder<Int>())
    let done = Gate()
    event.addHandler { number in
      if number == 1 {
        Task {
          await isOver.opened()
          reports.record(await event.send(2))
          done.open()
        }
      }
      for _ in 0..<20 { await Task.yield() }
      finished.record(number)
    }
    await comesBack { await event.send(1) }
    isOver.open()
    await comesBack { await done.opened() }
    #expect(reports.values.map(\.delivered) == [1])
    #expect(reports.values.map(\.deferred) == [0])
    #expect(finished.values == [1, 2])
  }

  /// Checks a task that call 1 starts. The task sends as soon as the `send` that made call 1 has
  /// returned. Call 1 is over by then, so the task's send waits for the handler.
  @Test(arguments: 0..<3) func aCallIsOverBeforeItsSenderKnows(kind: Int) async {
    let deliveries: [AsyncDelivery] = [.inOrder, .task, .concurrent(limit: 2)]
    let reports = Recorder<SendReport>()
    for _ in 0..<2_000 {
      let event = Event<Int>()
      let isOver = Flag()
      let done = Gate()
      event.addHandler(on: deliveries[kind]) { number async in
        guard number == 1 else { return }
        Task {
          var spins = 0
          while !isOver.isSet.load(ordering: .acquiring) {
            spins += 1
            if spins > 10_000 { await Task.yield() }  // other tests need this thread of the pool
          }
          reports.record(await event.send(2))
          done.open()
        }
      }
      await event.send(1)
      isOver.isSet.store(true, ordering: .releasing)
      await done.opened()
    }
    #expect(reports.values.allSatisfy { $0.delivered == 1 && $0.deferred == 0 })
  }

  @Test func taskThatOutlivesItsCallIsWaitedForNormallyDuringTheNextCall() async {
    let event = Event<Int>()
    let (second, asking, done) = (Gate(), Gate(), Gate())
    let reports = Recorder<SendReport>()
    let queued = Gate()
    event.addHandler { number in
      await queued.opened()
      switch number {
      case 1:
        Task {
          await second.opened()
          let ticket = event.submit(3)
          asking.open()
          reports.record(await ticket.report)
          done.open()
        }
      case 2:
        second.open()
        await asking.opened()
        for _ in 0..<200 { await Task.yield() }
      default: break
      }
    }
    event.post(1)
    event.post(2)
    queued.open()
    await comesBack { await done.opened() }
    #expect(reports.values.map(\.delivered) == [1])
    #expect(reports.values.map(\.deferred) == [0])
  }

  @Test func waitOfATaskThatOutlivedItsCallIsNoWaitOfTheNextCall() async {
    let (first, second) = (Event<Int>(), Event<Int>())
    let (began, gate, arrived) = (Gate(), Gate(), Gate())
    let reports = Recorder<SendReport>()
    first.addHandler { number in
      switch number {
      case 1: Task { await second.send(1) }
      case 2:
        gate.open()
        await arrived.opened()
      default: break
      }
    }
    first.addHandler(.priority(-1)) { number in
      if number == 3 { arrived.open() }
    }
    second.addHandler { _ in
      began.open()
      await gate.opened()
      reports.record(await first.send(3))
    }
    await comesBack { await first.send(1) }
    await began.opened()
    await comesBack { await first.send(2) }
    await comesBack { await second.quiesce() }
    #expect(reports.values.map(\.delivered) == [2])
    #expect(reports.values.map(\.deferred) == [0])
  }

  @Test func taskThatWaitsSinceAnEarlierCallDoesNotBlockTheLaneInTheGraph() async {
    // Call 1 makes a task that awaits a send to `second`. The task begins to wait during call 1,
    // and still waits during call 2.
    let (first, second) = (Event<Int>(), Event<Int>())
    let (began, gate, arrived) = (Gate(), Gate(), Gate())
    let reports = Recorder<SendReport>()
    let queued = Gate()
    first.addHandler { number in
      await queued.opened()
      switch number {
      case 1:
        Task { await second.send(1) }
        await began.opened()
        for _ in 0..<100 { await Task.yield() }
      case 2:
        gate.open()
        await arrived.opened()
      default: break
      }
    }
    first.addHandler(.priority(-1)) { number in
      if number == 3 { arrived.open() }
    }
    second.addHandler { _ in
      began.open()
      await gate.opened()
      reports.record(await first.send(3))
    }
    first.post(1)
    first.post(2)
    queued.open()
    await comesBack { await first.quiesce() }
    await comesBack { await second.quiesce() }
    #expect(reports.values.map(\.delivered) == [2])
    #expect(reports.values.map(\.deferred) == [0])
  }
}
