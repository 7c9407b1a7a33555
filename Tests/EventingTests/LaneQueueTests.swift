#if DEBUG
  import Testing

  @testable import Eventing

  /// What waits on a bounded or parallel lane, without threads.
  @Suite(.fewAtATime) struct LaneQueueTests {
    private func pop(_ queue: inout LaneQueue<Int>) -> Int? { if case .call(let number, _)? = queue.popFirst() { number } else { nil } }

    /// Takes all out, and puts them back in the opposite order.
    private func takeAndPutBack(_ count: Int, _ queue: inout LaneQueue<Int>) {
      for number in 0..<count { _ = queue.append(.call(number, nil)) }
      var taken: [Int] = []
      while let number = pop(&queue) { taken.append(number) }
      for number in taken.reversed() { queue.putBack(number, nil, turn: UInt64(number)) }
    }

    @Test func callsThatArePutBackInAnyOrderComeInTheOrderOfTheirTurns() {
      var queue = LaneQueue<Int>(.unbounded)
      takeAndPutBack(100, &queue)
      _ = queue.append(.call(100, nil))
      #expect(queue.count == 101)
      for expected in 0...50 {
        #expect(pop(&queue) == expected)
      }
      queue.putBack(50, nil, turn: 50)
      for expected in 50...100 {
        #expect(pop(&queue) == expected)
      }
      #expect(queue.isEmpty)
    }

    @Test func puttingBackCostsAsMuchAmongManyAsAmongFew() async {
      let growth = await growth(from: 1_000, to: 8_000, isEnough: 3) { count in
        processorTime {
          var queue = LaneQueue<Int>(.unbounded)
          takeAndPutBack(count, &queue)
          while queue.popFirst() != nil {}
        }
      }
      #expect(growth < 3)  // 8 if each moves all
    }
  }
#endif
