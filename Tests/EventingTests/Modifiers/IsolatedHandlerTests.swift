import Eventing
import EventingTesting
import Testing

/// Tests of handlers that are isolated to an actor, with each modifier.
@Suite(.fewAtATime) struct IsolatedHandlerTests {
  private struct Refused: Error {}

  private actor Store {
    var seen: [[Int]] = []
    var attempts = 0

    /// Records a call: the actor's state changes without an `await`, which shows the isolation.
    func take(_ numbers: [Int]) { seen.append(numbers) }
  }

  private static let policy = RetryPolicy.exponential(from: .seconds(1), to: .seconds(1), attempts: 3)

  @Test func aFailedCallIsTriedAgainOnItsActorAndKeepsItsPlace() async {
    let (event, clock, store) = (Event<Int>(), ManualClock(), Store())
    event.add(
      Handler(.retrying(IsolatedHandlerTests.policy, clock: clock), isolatedTo: store) { store, number in
        store.attempts += 1
        if number == 1, store.attempts < 3 { throw Refused() }
        store.take([number])
      })
    event.post(1)
    event.post(2)
    for _ in 0..<2 {
      #expect(await eventually { clock.sleeperCount == 1 })
      #expect(await store.seen.isEmpty)
      clock.advance(by: .seconds(1))
    }
    await event.quiesce()
    #expect(await store.seen == [[1], [2]])
  }

  @Test func noAttemptFollowsTheLossOfTheActor() async {
    let (event, clock, attempts) = (Event<Int>(), ManualClock(), Recorder<Int>())
    var store: Store? = Store()
    event.add(
      Handler(.retrying(IsolatedHandlerTests.policy, clock: clock), isolatedTo: store!) { _, number in
        attempts.record(number)
        throw Refused()
      })
    let ticket = event.submit(1)
    #expect(await eventually { clock.sleeperCount == 1 })
    store = nil
    clock.advance(by: .seconds(1))
    #expect(await ticket.report.failures.count == 1)
    #expect(attempts.values == [1])
    #expect(await eventually { event.handlerCount == 0 })
    withExtendedLifetime(store) {}
  }

  @Test func aCallThatTakesTooLongIsCancelledAndFails() async {
    let (event, clock, store) = (Event<Int>(), ManualClock(), Store())
    event.add(
      Handler(.timingOut(after: .seconds(5), clock: clock), isolatedTo: store) { _, _ in
        try await Task.sleep(for: .seconds(600))
      })
    let ticket = event.submit(1)
    #expect(await eventually { clock.sleeperCount == 1 })
    clock.advance(by: .seconds(5))
    let failures = await ticket.report.failures
    #expect(failures.map { $0.error as? EventingError } == [.timedOut])
    withExtendedLifetime(store) {}
  }

  @Test func batchesComeToTheActor() async {
    let (event, clock, store) = (Event<Int>(), ManualClock(), Store())
    event.batches(of: 3, within: .seconds(60), clock: clock).addHandler(isolatedTo: store) { store, batch in
      store.take(batch)
    }
    for number in 1...4 { event.post(number) }
    await event.quiesce()
    #expect(await store.seen == [[1, 2, 3], [4]])
  }

  @Test func aPaceLetsTheLastThrough() async {
    let (event, clock, store, called) = (Event<Int>(), ManualClock(), Store(), Gate())
    event.add(
      Handler(.debounced(for: .seconds(1), clock: clock), isolatedTo: store) { store, number in
        store.take([number])
        called.open()
      })
    for number in 1...5 { event.post(number) }
    #expect(await eventually { clock.sleeperCount == 1 })
    clock.advance(by: .seconds(1))
    await called.opened()
    #expect(await store.seen == [[5]])
  }

  @Test func aNewOccurrenceCancelsTheCallThatRuns() async {
    let (event, begun, store) = (Event<Int>(), Gate(), Store())
    event.add(
      Handler(.cancellingPrevious, isolatedTo: store) { store, number in
        begun.open()
        if number == 1 { try await Task.sleep(for: .seconds(600)) }
        store.take([number])
      })
    let ticket = event.submit(1)
    await begun.opened()
    event.post(2)
    #expect(await ticket.report.dropped == 1)
    await event.quiesce()
    #expect(await store.seen == [[2]])
  }
}
