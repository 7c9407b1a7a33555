import Eventing
import Testing

// A lock of the event delivers what it held in the order in which it would have come (G1, G3, G9).
extension HoldingTests {
  @Test func heldOccurrencesReachAllHandlersOneAfterTheOther() async {
    let (event, seen) = (Event<Int>(), Recorder<String>())
    event.occurrences.addHandler { seen.record("b \($0.sequence)") }
    event.occurrences.addHandler(.priority(1)) { seen.record("a \($0.sequence)") }
    event.lock(holding: .oldest(9))
    #expect(await event.send(1).held == 2)
    event.occurrences.addHandler { seen.record("c \($0.sequence)") }  // found by the second occurrence only
    #expect(await event.send(2).held == 3)
    event.unlock()
    event.post(3)
    await event.quiesce()
    #expect(seen.values == ["a 1", "b 1", "a 2", "b 2", "c 2", "a 3", "b 3", "c 3"])
  }

  @Test func heldOccurrencesPassTheInterceptors() async {
    let (event, seen) = (Event<Int>(), Recorder<Int>())
    event.intercept(.priority(1)) { $0 % 2 == 0 ? .stop : .proceed }
    event.addHandler { seen.record($0) }
    event.addHandler(on: .background) { seen.record(10 * $0) }
    event.lock(holding: .oldest(9))
    for number in 1...3 { #expect(await event.send(number).held == 3) }
    event.unlock()
    await event.quiesce()
    #expect(seen.values.filter { $0 < 10 } == [1, 3])
    #expect(seen.values.filter { $0 >= 10 } == [10, 30])
    #expect(await event.handlers().map(\.skippedCount) == [0, 1, 1])
    #expect(await event.handlers().map(\.callCount) == [3, 2, 2])
  }

  @Test func anInterceptorDoesNotStopAReplayedPayload() async {
    let (event, seen) = (Event<Int>(replaying: .last(1)), Recorder<Int>())
    event.intercept(.priority(1)) { _ in .stop }
    event.lock(holding: .oldest(9))
    event.post(1)
    event.addHandler { seen.record($0) }
    event.unlock()
    await event.quiesce()
    #expect(seen.values == [1])
  }

  @Test func aLockThatBeginsInBetweenKeepsTheRestInOrder() async {
    let (event, seen) = (Event<Int>(), Recorder<String>())
    event.addHandler { number in
      seen.record("a \(number)")
      if number == 2 { event.lock(holding: .oldest(9)) }
    }
    event.addHandler { seen.record("b \($0)") }
    event.lock(holding: .oldest(9))
    for number in 1...3 { event.post(number) }
    event.unlock()
    await event.quiesce()
    #expect(seen.values == ["a 1", "b 1", "a 2"])
    event.unlock()
    await event.quiesce()
    #expect(seen.values == ["a 1", "b 1", "a 2", "b 2", "a 3", "b 3"])
  }

  @Test func locksOfSeveralHandlersThatEndTogetherDoTheSame() async {
    let (keyed, seen) = (KeyedEvent<String, Int>(), Recorder<String>())
    keyed["k"].addHandler { seen.record("k \($0)") }
    keyed.anyKey.addHandler { seen.record("any \($1)") }
    keyed["k"].addHandler { seen.record("l \($0)") }
    keyed.lockAll(holding: .oldest(9))
    for number in 1...2 { keyed.post(number, to: "k") }
    keyed.unlockAll()
    await keyed.quiesce()
    #expect(seen.values == ["k 1", "any 1", "l 1", "k 2", "any 2", "l 2"])
  }
}
