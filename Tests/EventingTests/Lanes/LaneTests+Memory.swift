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
      guard case .serial(let lane) = token.record.details?.runner else { return #expect(Bool(false)) }
      #expect(await eventually { lane.mutex.withLock { lane.phase == .idle } })
      let room = lane.mutex.withLock { max(lane.items.capacity, lane.batch.capacity) }
      #expect(room <= 2 * OverloadControl.limit)
      #expect(calls.value == 20_000)
    }
  }
#endif
