#if DEBUG
  import Testing

  @testable import Eventing

  extension PriorityTableTests {
    // MARK: Concurrent additions, and the sweep for released owners

    /// A group got its numbers before other handlers that were added first. It comes before them,
    /// and adding it costs about as much as it does alone.
    @Test(arguments: [false, true]) func aGroupBesideOtherHandlersComesInItsOrder(isEnqueued: Bool) async {
      func add(_ count: Int, beside others: Int) async -> (Duration, [Int]) {
        let (event, seen) = (Event<Int>(), Recorder<Int>())
        let anchor = event.core.anchor
        let group = (0..<count).map { number in
          event.core.pendingHandler(Handler<Int>(on: .inline) { _ in seen.record(number) }.any, anchor)
        }
        for number in count..<count + others { event.addHandler { _ in seen.record(number) } }
        let start = ContinuousClock.now
        if isEnqueued {
          event.core.enqueue(ContiguousArray(group))
        } else {
          event.core.add(ContiguousArray(group))
        }
        let time = start.duration(to: .now)
        await event.send(1)
        return (time, seen.values)
      }
      let (alone, few) = await add(3_000, beside: 0)
      let (beside, all) = await add(3_000, beside: 3_000)
      #expect(few == Array(0..<3_000) && all == Array(0..<6_000))
      #expect(beside < alone * 30 + .milliseconds(50), "\(alone) alone, \(beside) beside others")
    }

    @Test func ofTwoNewHandlersTheOneWithTheLowerNumberComesFirst() {
      // records[0] has the lowest number and is appended last, so it moves to the front. It passes
      // records[2], which gets a new slot. It also passes records[1], which has ended and gets
      // none.
      var table = PriorityTable()
      let records = (0..<3).map { _ in HandlerRecord(0) }
      for record in records[1...] { table.append(.none, record, priority: 0) }
      _ = table.remove(records[1], priority: 0)
      table.append(.none, records[0], priority: 0)
      #expect(records.map(\.index) == [0, -1, 2])
    }

    @Test func theSweepVisitsEverySlotOfEveryPriorityInTurn() {
      var table = PriorityTable()
      let records = (0..<9).map { _ in HandlerRecord(0) }
      for (index, record) in records.enumerated() { table.append(.none, record, priority: index % 3) }
      for _ in 0..<2 {
        var seen: Set<UInt64> = []
        for _ in records { if let record = table.nextToSweep() { seen.insert(record.id) } }
        #expect(seen == Set(records.map(\.id)))
      }
    }

    @Test func aReferenceThatIsSetOnceKeepsTheFirst() {
      let reference = OnceReference<LiveCount>()
      let (first, second) = (LiveCount(), LiveCount())
      #expect(reference.set(first) === first)
      #expect(reference.set(second) === first)
      #expect(reference.load() === first)
    }
  }
#endif
