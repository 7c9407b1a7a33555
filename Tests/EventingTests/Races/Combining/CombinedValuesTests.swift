import Eventing
import Testing

/// Tests of guarantee H12 of PROOF.md: views of several values together.
@Suite(.fewAtATime) struct CombinedValuesTests {
  struct Pair: Equatable, Sendable, CustomStringConvertible {
    var first: Int
    var second: Int
    init(_ first: Int, _ second: Int) { (self.first, self.second) = (first, second) }
    var description: String { "(\(first), \(second))" }
  }

  @Test func aHandlerGetsThePairAsItIsAndOneForEachChange() {
    let (first, second, seen) = (Observed("Ada"), Observed(1), Recorder<String>())
    second.value = 2
    first.combineLatest(second).addHandler { first, second in seen.record("\(first) \(second)") }
    first.value = "Bob"
    second.value = 3
    second.update { $0 += 1 }
    second.value = 4
    #expect(seen.values == ["Ada 2", "Bob 2", "Bob 3", "Bob 4", "Bob 4"])
  }

  @Test func threeValuesMakeTriples() {
    let (first, second, third, seen) = (Observed(1), Observed("a"), Observed(0.5), Recorder<String>())
    first.combineLatest(second, third).addHandler { first, second, third in seen.record("\(first) \(second) \(third)")
    }
    third.value = 1.5
    second.value = "b"
    first.value = 2
    #expect(seen.values == ["1 a 0.5", "1 a 1.5", "1 b 1.5", "2 b 1.5"])
  }

  @Test func oneValueMayStandInSeveralPlacesAndChangesInAllAtOnce() {
    let (value, other, seen) = (Observed<Int?>(1), Observed(0), Recorder<String>())
    value.combineLatest(value).addHandler { seen.record("\($0 ?? 0) \($1 ?? 0)") }
    value.combineLatest(other, value).addHandler { seen.record("\($0 ?? 0) \($1) \($2 ?? 0)") }
    other.combineLatest(value, value).addHandler { seen.record("\($0) \($1 ?? 0) \($2 ?? 0)") }
    value.value = nil
    #expect(seen.values == ["1 1", "1 0 1", "0 1 1", "0 0", "0 0 0", "0 0 0"])
  }

  @Test func handlersHaveAllOptionsOfAnEvent() async {
    final class Owner: Sendable {}
    let (first, second, seen) = (Observed(1), Observed(1), Recorder<String>())
    let sums = first.combineLatest(second).map { $0 + $1 }
    var owner: Owner? = Owner()
    sums.addHandler { seen.record("late \($0)") }
    sums.addHandler(.priority(1)) { seen.record("early \($0)") }
    if let owner { sums.addHandler(owner: owner) { _, sum in seen.record("owned \(sum)") } }
    first.combineLatest(second).filter { $0 < $1 }.once { seen.record("once \($0) \($1)") }
    #expect(seen.values == ["late 2", "early 2", "owned 2"])
    seen.removeAll()
    owner = nil
    second.value = 2
    second.value = 3
    #expect(seen.values == ["early 3", "late 3", "once 1 2", "early 4", "late 4"])
    let background = Recorder<Int>()
    first.combineLatest(second).addHandler(on: .background) { background.record(10 * $0 + $1) }
    first.value = 2
    await first.quiesce()
    #expect(background.values == [13, 23])
  }

  @Test func duplicatesAreLeftOutByARuleForPairs() {
    let (first, second, seen) = (Observed(1), Observed(1), Recorder<Int>())
    first.combineLatest(second).removeDuplicates(by: ==).addHandler { seen.record(10 * $0 + $1) }
    first.value = 1
    second.value = 2
    second.value = 2
    #expect(seen.values == [11, 12])
  }

  @Test func aGroupBeginsTogether() {
    let (first, second, seen) = (Observed(1), Observed(1), Recorder<String>())
    let tokens = first.combineLatest(second).add(
      Handler(.named("a")) { seen.record("a \($0)") }, Handler { seen.record("b \($0)") })
    first.value = 2
    #expect(tokens.map(\.name) == ["a", nil])
    #expect(seen.values == ["a (1, 1)", "b (1, 1)", "a (2, 1)", "b (2, 1)"])
  }

  @Test func everyEqualCombinationTakesATokenAndNoOther() {
    let (first, second, seen) = (Observed(1), Observed(1), Recorder<Int>())
    let token = first.combineLatest(second).addHandler { first, _ in seen.record(first) }
    #expect(!second.combineLatest(first).remove(token) && !first.remove(token))
    #expect(first.combineLatest(second).remove(token) && !first.combineLatest(second).remove(token))
    let bag = HandlerBag()
    first.combineLatest(second).addHandler { first, _ in seen.record(-first) }.store(in: bag)
    first.value = 2
    bag.removeAll()
    first.value = 3
    #expect(seen.values == [1, -1, -2])
  }

  @Test func aSequenceBeginsWithThePairAndEndsWithAValue() async {
    let second = Observed(1)
    var pairs: [Pair] = []
    var first: Observed<Int>? = Observed(1)
    let sequence = first!.combineLatest(second).map { Pair($0, $1) }.payloads()
    first?.value = 2
    second.value = 2
    first = nil
    second.value = 3
    for await pair in sequence { pairs.append(pair) }
    #expect(pairs == [Pair(1, 1), Pair(2, 1), Pair(2, 2)])
  }

  @Test func theViewKeepsTheValuesAliveAndAHandlerDoesNot() {
    let (second, seen, live) = (Observed(1), Recorder<Int>(), LiveCount())
    var view: (any EventSource<(Canary, Int)>)?
    do {
      let first = Observed(Canary(live))
      view = first.combineLatest(second)
    }
    #expect(live.alive == 1)
    let closure = Canary(live)
    view?.addHandler { [closure] _, number in
      closure.sing()
      seen.record(number)
    }
    second.value = 2
    view = nil
    second.value = 3
    #expect(seen.values == [1, 2] && live.alive == 1)
    withExtendedLifetime(closure) {}
  }

  @Test func afterTheLastHandlerNoValueIsKept() {
    let (first, second, live) = (Observed<Canary?>(nil), Observed(1), LiveCount())
    let view = first.combineLatest(second)
    let tokens = (0..<2).map { _ in view.addHandler { _ in } }
    first.value = Canary(live)
    first.value = Canary(live)
    #expect(live.alive == 1)
    for token in tokens { view.remove(token) }
    first.value = nil
    #expect(live.alive == 0)
    view.once { _ in }
    first.value = Canary(live)
    first.value = nil
    #expect(live.alive == 0)
  }

  @Test func whatAHandlerSetsComesAfterTheHandlersOfTheCurrentPair() {
    let (first, second, seen) = (Observed(0), Observed(0), Recorder<String>())
    first.combineLatest(second).addHandler { one, two in
      seen.record("a \(one) \(two)")
      if one > two { second.value = one }
    }
    first.combineLatest(second).addHandler { seen.record("b \($0) \($1)") }
    first.value = 1
    #expect(seen.values == ["a 0 0", "b 0 0", "a 1 0", "b 1 0", "a 1 1", "b 1 1"])
  }

  @Test func handlersOfTheValuesSetEachOther() {
    let (first, second, seen) = (Observed(0), Observed(0), Recorder<Pair>())
    first.newValues.addHandler { new in if new < 5 { second.value = new } }
    second.changes(prior: true).addHandler { change in
      if !change.isPrior { first.value = change.new + 1 }
    }
    first.combineLatest(second).map { Pair($0, $1) }.addHandler { seen.record($0) }
    first.value = 1
    let due = [(0, 0), (1, 0), (1, 1), (2, 1), (2, 2), (3, 2), (3, 3), (4, 3), (4, 4), (5, 4)]
    #expect(seen.values == due.map { Pair($0, $1) })
  }

  @Test func anErrorStopsNoOtherHandler() {
    struct Problem: Error {}
    let (first, second, seen) = (Observed(0), Observed(0), Recorder<Int>())
    first.combineLatest(second).addHandler { _ in throw Problem() }
    first.combineLatest(second).addHandler { first, _ in seen.record(first) }
    first.value = 1
    #expect(seen.values == [0, 1])
  }

  @Test func itForwardsToAnEvent() {
    let (first, second, seen) = (Observed(1), Observed(1), Recorder<Int>())
    let event = Event<(Int, Int)>()
    event.addHandler { seen.record(10 * $0 + $1) }
    first.combineLatest(second).forward(to: event)
    second.value = 2
    #expect(seen.values == [11, 12])
  }
}
