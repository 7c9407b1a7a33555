#if DEBUG
  import Testing

  @testable import Eventing

  /// Tests of the queue of a lane that is bounded, or whose calls overlap, without threads.
  @Suite(.fewAtATime) struct LaneQueueTests {
    private func append(_ number: Int, _ queue: inout LaneQueue) { lend(number) { _ = queue.append($0, nil) } }

    private func pop(_ queue: inout LaneQueue) -> OverlappingCall? {
      if let call = queue.popReturned() { return call }
      switch queue.popFirst() {
      case nil: return nil
      case let popped?: return popped.call(nil)
      }
    }

    private func number(_ call: OverlappingCall) -> Int { call.borrowed.payload() }

    /// Appends calls, takes all of them out, and puts them back in reverse.
    private func takeAndPutBack(_ count: Int, _ queue: inout LaneQueue) {
      for number in 0..<count { append(number, &queue) }
      var taken: [OverlappingCall] = []
      while let call = pop(&queue) { taken.append(call) }
      for call in taken.reversed() { queue.putBack(call, turn: UInt64(number(call))) }
    }

    @Test func callsThatArePutBackInAnyOrderComeInTheOrderOfTheirTurns() {
      var queue = LaneQueue(.unbounded, Int.self)
      takeAndPutBack(100, &queue)
      append(100, &queue)
      let count = queue.count
      #expect(count == 101)
      var last: OverlappingCall?
      for expected in 0...50 {
        last = pop(&queue)
        #expect(last.map(number) == expected)
      }
      if let last { queue.putBack(last, turn: 50) }
      for expected in 50...100 { #expect(pop(&queue).map(number) == expected) }
      let isEmpty = queue.isEmpty
      #expect(isEmpty)
    }

    @Test func puttingBackCostsAsMuchAmongManyAsAmongFew() async {
      let growth = await growth(from: 1_000, to: 8_000, isEnough: 3) { count in
        processorTime {
          var queue = LaneQueue(.unbounded, Int.self)
          takeAndPutBack(count, &queue)
          while pop(&queue) != nil {}
        }
      }
      #expect(growth < 3)  // `growth` would be about 8 if each `putBack` moved all waiting calls
    }
  }
#endif
