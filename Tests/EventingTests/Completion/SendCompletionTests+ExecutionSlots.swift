import Eventing
import Testing

extension SendCompletionTests {
  // MARK: Execution slots

  @Test func sendsFromEverySlotOfALaneToThatLaneReturn() async {
    let event = Event<Int>()
    let (both, inner, calls) = (Countdown(2), Recorder<SendReport>(), Counter())
    event.addHandler(on: .concurrent(limit: 2)) { number in
      calls.add()
      guard number == 0 else { return }
      both.arrive()
      await both.opened()
      inner.record(await event.send(1))
    }
    await comesBack {
      async let a = event.send(0)
      async let b = event.send(0)
      _ = await (a, b)
    }
    await event.quiesce()
    #expect(calls.value == 4)
    #expect(inner.values.allSatisfy { $0.delivered + $0.deferred == 1 })
    #expect(inner.values.contains { $0.deferred == 1 })
  }

  @Test func sendsFromEverySlotOfTwoLanesToEachOtherReturn() async {
    let (first, second) = (Event<Int>(), Event<Int>())
    let (all, calls) = (Countdown(4), Counter())
    let deferred = Counter()
    for (own, other) in [(first, second), (second, first)] {
      own.addHandler(on: .concurrent(limit: 2)) { number in
        calls.add()
        guard number == 0 else { return }
        all.arrive()
        await all.opened()
        deferred.add(await other.send(1).deferred)
      }
    }
    await comesBack {
      async let a = first.send(0)
      async let b = first.send(0)
      async let c = second.send(0)
      async let d = second.send(0)
      _ = await (a, b, c, d)
    }
    await comesBack {
      await first.quiesce()
      await second.quiesce()
    }
    #expect(calls.value == 8)
    #expect(deferred.value >= 1)
  }

  @Test func freeSlotOfALaneInACycleIsWaitedFor() async {
    // One slot of the lane of `first` waits for `second`, and the other is free. So the send back
    // to `first` can complete.
    let (first, second) = (Event<Int>(), Event<Int>())
    let reports = Recorder<SendReport>()
    first.addHandler(on: .concurrent(limit: 2)) { number in
      if number == 0 { await second.send(0) }
    }
    second.addHandler { _ in reports.record(await first.send(1)) }
    await comesBack { await first.send(0) }
    #expect(reports.values.map(\.delivered) == [1])
    #expect(reports.values.map(\.deferred) == [0])
  }
}
