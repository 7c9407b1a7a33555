import Eventing
import Testing

/// Tests of guarantee G3: the order of handlers within an occurrence.
@Suite(.fewAtATime) struct HandlerOrderTests {
  @Test(arguments: [10, 40, 1_000]) func handlersOfOnePriorityRunInTheOrderInWhichTheyWereAdded(count: Int) {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    for number in 0..<count { event.addHandler { _ in seen.record(number) } }
    event.post(1)
    #expect(seen.values == Array(0..<count))
  }

  @Test(arguments: [10, 40, 1_000]) func handlersRunByDescendingPriorityThenInTheOrderInWhichTheyWereAdded(count: Int) {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    var random = SeededGenerator.fresh("priorities")
    let priorities = (0..<count).map { _ in Int.random(in: -3...3, using: &random) }
    for (number, priority) in priorities.enumerated() {
      event.addHandler(.priority(priority)) { _ in seen.record(number) }
    }
    event.post(1)
    let expected = priorities.indices.sorted { (-priorities[$0], $0) < (-priorities[$1], $1) }
    #expect(seen.values == expected)
  }

  @Test(arguments: [10, 40, 1_000]) func theOrderOfTheOthersStaysWhenHandlersAreRemoved(count: Int) {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    let tokens = (0..<count).map { number in event.addHandler(.priority(number % 3)) { _ in seen.record(number) } }
    for number in stride(from: 0, to: count, by: 2) { event.remove(tokens[number]) }
    event.addHandler(.priority(1)) { _ in seen.record(count) }
    event.post(1)
    var expected: [Int] = []
    for priority in [2, 1, 0] {
      expected += stride(from: 1, to: count, by: 2).filter { $0 % 3 == priority }
      if priority == 1 { expected.append(count) }
    }
    #expect(seen.values == expected)
  }

  @Test func handlersAddedWhileTheEventIsBusyKeepTheirOrder() async {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    await whileBusy(event) {
      for number in 0..<40 { event.addHandler(.priority(number % 2)) { _ in seen.record(number) } }
    }
    await event.send(1)
    #expect(seen.values == Array(stride(from: 1, to: 40, by: 2)) + Array(stride(from: 0, to: 40, by: 2)))
  }
}
