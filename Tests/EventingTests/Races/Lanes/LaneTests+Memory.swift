#if DEBUG
  import Dispatch
  import Testing

  @testable import Eventing

  extension LaneTests {
    @Test func laneThatHadAVeryLongQueueGivesItsBufferBack() async throws {
      let event = Event<Int>()
      let (queue, calls) = (DispatchQueue(label: "test"), Counter())
      let token = event.addHandler(on: .queue(queue)) { _ in calls.add() }
      queue.suspend()
      for number in 0..<20_000 { event.post(number) }
      queue.resume()
      await event.quiesce()
      guard case .lane(let member) = token.record.details?.route else { return #expect(Bool(false)) }
      #expect(await eventually { member.lane.mutex.withLock { member.lane.isQuiet } })
      let room = member.lane.mutex.withLock { max(member.inbox.capacity, member.ready.capacity) }
      #expect(room <= 2 * OverloadControl.limit)
      #expect(calls.value == 20_000)
    }

    /// 32 KB.
    private struct Image: Sendable { let words = InlineArray<4_096, UInt64>(repeating: 1) }

    private static let places: [(String, AsyncDelivery, HandlerOption<Image>)] = [
      ("in order", .inOrder, .options()), ("bounded", .inOrder, .buffering(.oldest(500))),
      ("concurrent", .concurrent(limit: 1), .options()), ("task", .task, .options()),
      ("lane", .lane(HandlerLane()), .options()), ("wide lane", .lane(HandlerLane(limit: 2)), .options()),
    ]

    /// A test of its own process: other tests allocate at the same time.
    @Test func aLaneThatHadLargePayloadsGivesTheirMemoryBack() async {
      await #expect(processExitsWith: .success) {
        for (name, place, bound) in LaneTests.places {
          let (event, gate) = (Event<Image>("images"), Gate())
          event.addHandler(bound, on: place) { _ async in await gate.opened() }
          let before = heapInUse()
          for _ in 0..<400 { event.post(Image()) }
          precondition(heapInUse() == 0 || heapInUse() - before > 12_000_000, name)
          gate.open()
          await event.quiesce()
          let isBack = await eventually { heapInUse() - before < 1_000_000 }
          precondition(isBack, "\(name): \(heapInUse() - before)")
        }
        // So does a busy event, and a sequence.
        let (event, busy, gate) = (Event<Image>("images"), Gate(), Gate())
        var payloads = event.payloads().makeAsyncIterator()
        event.once { _ in
          busy.open()
          gate.wait()
        }
        let before = heapInUse()
        let poster = Task.detached { event.post(Image()) }
        await busy.opened()
        for _ in 0..<400 { event.post(Image()) }
        gate.open()
        await poster.value
        await event.quiesce()
        event.finish()
        while (try? await payloads.next()) != nil {}
        let isBack = await eventually { heapInUse() - before < 1_000_000 }
        precondition(isBack, "\(heapInUse() - before)")
      }
    }

    @Test func aBacklogOfASharedLaneDoesNotMoveItsItemsAgainAndAgain() async throws {
      let (lane, one, other, gate, calls) = (HandlerLane(), Event<Int>(), Event<Int>(), Gate(), Counter())
      let token = one.addHandler(on: .lane(lane)) { number async in
        if number == 0 { await gate.opened() }
        calls.add()
      }
      other.addHandler(on: .lane(lane)) { _ async in calls.add() }
      for round in 0..<3 {
        for number in 0..<5_000 { one.post(round * 5_000 + number) }
        other.post(round)
      }
      gate.open()
      await lane.quiesce()
      #expect(calls.value == 15_003)
      guard case .lane(let member) = token.record.details?.route else { return #expect(Bool(false)) }
      let moves = member.lane.mutex.withLock { member.moves }
      #expect(moves <= 2 * 15_000)  // at most once back to the queue, and once out of it
    }

    @Test func occurrencesThatAreDroppedBehindABarrierLeaveNothing() async throws {
      let (event, gate, begun, seen) = (Event<Int>(), Gate(), Gate(), Recorder<Int>())
      let token = event.addHandler(.buffering(.newest(1)), on: .inOrder) { number async in
        seen.record(number)
        begun.open()
        await gate.opened()
      }
      event.post(0)
      await begun.opened()
      event.post(1)
      guard case .lane(let member) = token.record.details?.route else { return #expect(Bool(false)) }
      let quiet = Task { await event.quiesce() }
      #expect(await eventually { member.lane.mutex.withLock { member.inbox.count == 2 } })
      for number in 2...10_000 { event.post(number) }
      #expect(member.lane.mutex.withLock { member.inbox.count } == 2 && member.waitingCount == 1)
      gate.open()
      await quiet.value
      await event.quiesce()
      #expect(seen.values == [0, 10_000])
    }
  }
#endif
