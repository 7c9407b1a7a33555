import Eventing
import Testing

// Tests of the one order of the changes of all combined values.
extension CombinedValuesTests {
  @Test func aSetOfABusyValueCountsWhenItIsMadeNotWhenItIsDelivered() async {
    let (first, second, seen) = (Observed(0), Observed(0), Recorder<Pair>())
    let (inside, gate) = (Gate(), Gate())
    first.combineLatest(second).map { Pair($0, $1) }.addHandler { seen.record($0) }
    first.newValues.addHandler(.once) { _ in
      inside.open()
      gate.wait()
    }
    let setter = startThread { first.value = 1 }
    await inside.opened()
    // The handlers of `first` have not received the second change when `second` changes.
    first.value = 2
    second.value = 2
    await second.quiesce()
    #expect(seen.values == [Pair(0, 0), Pair(1, 0), Pair(2, 0), Pair(2, 2)])
    gate.open()
    await setter.opened()
    await first.quiesce()
    #expect(seen.count == 4)
  }

  @Test func eachSetIsOneStepInOneChainUnderRacingThreads() async {
    let values = [Observed(0), Observed(0), Observed(0)]
    let seen = Recorder<[Int]>()
    values[0].combineLatest(values[1], values[2]).addHandler { seen.record([$0, $1, $2]) }
    await onThreads(3) { index in
      for number in 1...2_000 {
        if index == 2 { values[index].update { $0 += 1 } } else { values[index].value = number }
      }
    }
    for value in values { await value.quiesce() }
    let triples = seen.values
    #expect(triples.count == 6_001 && triples.first == [0, 0, 0] && triples.last == [2_000, 2_000, 2_000])
    for (before, after) in zip(triples, triples.dropFirst()) {
      #expect(zip(before, after).map { $1 - $0 }.sorted() == [0, 0, 1])
    }
  }

  @Test func noPairComesThatNeverWasAndNewHandlersMissNone() async {
    // One thread sets `first`, then `second` to an equal number. So `first` is never behind, and
    // never more than one ahead. Handlers of `first` keep its event busy meanwhile.
    let (first, second, isOver) = (Observed(0), Observed(0), Gate())
    first.addHandler { _ in giveWay() }
    let setter = startThread {
      var number = 0
      while !isOver.isOpen {
        number += 1
        first.value = number
        second.value = number
      }
    }
    let busy = startThread { while !isOver.isOpen { first.addHandler(.once) { _ in } } }
    for _ in 0..<200 {
      let (seen, before) = (Recorder<Pair>(), (first.value, second.value))
      let token = first.combineLatest(second).addHandler { seen.record(Pair($0, $1)) }
      while seen.count < 5 { await Task.yield() }
      first.combineLatest(second).remove(token)
      let pairs = seen.values
      #expect(pairs[0].first >= before.0 && pairs[0].second >= before.1)
      for pair in pairs { #expect(pair.first == pair.second || pair.first == pair.second + 1) }
      for (one, next) in zip(pairs, pairs.dropFirst()) {
        #expect(next.first + next.second == one.first + one.second + 1)
      }
    }
    isOver.open()
    await setter.opened()
    await busy.opened()
  }

  @Test func threadsThatSetInHandlersDoNotBlockEachOther() async {
    let (first, second, third) = (Observed(0), Observed(0), Observed(0))
    let calls = Counter()
    first.addHandler { _ in if second.value < 1_000 { second.update { $0 += 1 } } }
    first.combineLatest(second).addHandler { one, _ in third.value = one }
    second.combineLatest(third).addHandler { two, _ in if two < 900, two % 3 == 0 { first.update { $0 += 1 } } }
    third.combineLatest(second).addHandler { _ in calls.add() }
    await onThreads(3) { index in
      for _ in 0..<500 { [first, second, third][index].update { $0 += 1 } }
    }
    for value in [first, second, third, first, second, third] { await value.quiesce() }
    #expect(calls.value > 1_000)
  }

  @Test func handlersComeAndGoWhileTheValuesAreSet() async {
    let (first, second, isOver) = (Observed(0), Observed<Canary?>(nil), Gate())
    let (live, canaries) = (LiveCount(), LiveCount())
    let setters = [
      startThread { while !isOver.isOpen { first.update { $0 += 1 } } },
      startThread { while !isOver.isOpen { second.value = Canary(canaries) } },
    ]
    await onThreads(3) { _ in
      for round in 0..<500 {
        let (closure, began) = (Canary(live), Counter())
        let token = first.combineLatest(second).addHandler(round % 3 == 0 ? .once : .options()) { [closure] _ in
          closure.sing()
          began.add()
        }
        if round % 2 == 0 { first.combineLatest(second).remove(token) } else { token.store(in: HandlerBag()) }
      }
    }
    isOver.open()
    for setter in setters { await setter.opened() }
    await first.quiesce()
    await second.quiesce()
    second.value = nil
    #expect(await eventually { live.alive == 0 && canaries.alive == 0 })
  }

  @Test func aValueThatEndsEndsTheHandlersWhileTheOtherIsSet() async {
    let (second, live, isOver) = (Observed(0), LiveCount(), Gate())
    let setter = startThread { while !isOver.isOpen { second.update { $0 += 1 } } }
    for _ in 0..<500 {
      let first = Observed(Canary(live))
      let closure = Canary(live)
      first.combineLatest(second).addHandler { [closure] _ in closure.sing() }
      second.combineLatest(first).addHandler(on: .background) { [closure] _ in closure.sing() }
    }
    isOver.open()
    await setter.opened()
    #expect(await eventually { live.alive == 0 })
  }
}

#if DEBUG
  extension SyncPointTests {
    /// Sets `value` to 1 on a new thread. The thread is held after the change, before it passes the
    /// change to the combination.
    private func held(_ value: Observed<Int>) async -> (hold: Hold, setter: Gate) {
      let hold = Hold(at: .foundBusy)
      let setter = startThread { hold.during { value.value = 1 } }
      await hold.reached.opened()
      return (hold, setter)
    }

    @Test func aSetTakesTheChangesOfAThreadThatStandsStillAlong() async {
      let (first, second, seen) = (Observed(0), Observed(0), Recorder<CombinedValuesTests.Pair>())
      first.combineLatest(second).addHandler { seen.record(.init($0, $1)) }
      let (hold, setter) = await held(first)
      second.value = 1
      await second.quiesce()
      #expect(seen.values == [.init(0, 0), .init(1, 0), .init(1, 1)])
      hold.release()
      await setter.opened()
      await first.quiesce()
      #expect(seen.count == 3)
    }

    @Test func aNewHandlerBeginsWithAChangeThatCanBeReadThoughItsThreadStandsStill() async {
      let (first, second) = (Observed(0), Observed(0))
      let (early, late) = (Recorder<CombinedValuesTests.Pair>(), Recorder<CombinedValuesTests.Pair>())
      first.combineLatest(second).addHandler { early.record(.init($0, $1)) }
      let (hold, setter) = await held(first)
      #expect(first.value == 1)
      first.combineLatest(second).addHandler { late.record(.init($0, $1)) }
      await second.quiesce()
      #expect(early.values == [.init(0, 0), .init(1, 0)] && late.values == [.init(1, 0)])
      hold.release()
      await setter.opened()
    }

    @Test func aValueEnqueuesNothingOnceItsCombinationsHaveNoHandlers() {
      let (first, second) = (Observed(0), Observed(0))
      func enqueued() -> Int {
        var count = 0
        SyncPoints.watch({ point in if point == .foundBusy { count += 1 } }, during: { first.value += 1 })
        return count
      }
      let view = first.combineLatest(second)
      #expect(enqueued() == 0)
      let tokens = [view.addHandler { _ in }, view.addHandler { _ in }]
      #expect(enqueued() == 1)
      view.remove(tokens[0])
      view.once { _ in }
      #expect(enqueued() == 1)
      first.combineLatest(second).remove(tokens[1])
      #expect(enqueued() == 0)
    }
  }
#endif
