import Eventing
import Observation
import Testing

/// Tests of values whose changes are events.
@Suite(.fewAtATime) struct ObservedTests {
  @Test func aHandlerIsCalledWithTheValueAsItIsAndWithEachNewOne() {
    let value = Observed(1)
    let seen = Recorder<String>()
    value.addHandler { seen.record("value \($0)") }
    value.newValues.addHandler { seen.record("new \($0)") }
    value.changes().addHandler { seen.record("change \($0)") }
    value.value = 2
    #expect(seen.values == ["value 1", "value 2", "new 2", "change 1 → 2"])
    #expect(value.value == 2)
  }

  @Test func initialDeliversThePresentValueAtOnceAndThenEveryChange() {
    let value = Observed(1)
    let seen = Recorder<String>()
    value.changes(initial: true).addHandler { seen.record("\($0)") }
    value.value = 2
    value.changes(initial: true).addHandler { seen.record("present \($0)") }
    #expect(seen.values == ["– → 1", "1 → 2", "present – → 2"])
  }

  @Test func priorIsDeliveredBeforeTheValueChanges() {
    let value = Observed(1)
    let seen = Recorder<String>()
    value.changes(prior: true).addHandler { seen.record("\($0), is \(value.value)") }
    value.newValues.addHandler { seen.record("\($0)") }
    value.value = 2
    #expect(seen.values == ["before 1 → 2, is 1", "1 → 2, is 2", "2"])
  }

  @Test func aChangeMadeByAHandlerComesAfterTheFirstChangeHasReachedTheOthers() {
    let value = Observed(0)
    let seen = Recorder<String>()
    value.changes(prior: true).addHandler { change in
      seen.record("a \(change)")
      if change.new == 1, !change.isPrior { value.value = 2 }
    }
    value.changes().addHandler { seen.record("b \($0)") }
    value.value = 1
    #expect(seen.values == ["a before 0 → 1", "a 0 → 1", "b 0 → 1", "a before 1 → 2", "a 1 → 2", "b 1 → 2"])
  }

  @Test func aPriorHandlerAddedWithinACallIsCalledBeforeAChangeMadeInThatCall() {
    let value = Observed(0)
    let seen = Recorder<String>()
    value.newValues.addHandler(.once) { _ in
      value.changes(prior: true).addHandler { seen.record("\($0)") }
      value.value = 2
    }
    value.value = 1
    #expect(seen.values == ["before 1 → 2", "1 → 2"])
  }

  @Test func anUpdateReturnsAResultAndAnErrorLeavesTheValue() async {
    struct Refused: Error {}
    let stock = Observed(1)
    @Sendable func take() -> Bool {
      stock.update { count in
        guard count > 0 else { return false }
        count -= 1
        return true
      }
    }
    #expect(take() && !take())
    #expect(throws: Refused.self) {
      try stock.update { count throws(Refused) in
        count = 9
        throw Refused()
      }
    }
    #expect(stock.value == 0)
    // It throws in the second round, after a change by another thread.
    var rounds = 0
    #expect(throws: Refused.self) {
      try stock.update { count throws(Refused) in
        rounds += 1
        if rounds == 2 { throw Refused() }
        startThread { stock.value = 5 }.wait()
        count = 9
      }
    }
    #expect(stock.value == 5 && rounds == 2)
    stock.value = 6  // a debug build stops here if the update above has not ended
    #expect(take() && stock.value == 5)
  }

  @Test func aChangeMadeByAPriorHandlerComesFirst() {
    let value = Observed(0)
    let seen = Recorder<String>()
    value.changes(prior: true).addHandler { change in
      seen.record("\(change)")
      if change.isPrior, change == ValueChange(old: 0, new: 1, isPrior: true) { value.value = 5 }
    }
    value.value = 1
    #expect(seen.values == ["before 0 → 1", "before 0 → 5", "0 → 5", "5 → 1"])
    #expect(value.value == 1)
  }

  @Test func theChangesFormOneChainUnderRacingThreadsAndNoUpdateIsLost() async {
    let value = Observed(0)
    let changes = Recorder<ValueChange<Int>>()
    value.changes().addHandler { changes.record($0) }
    await onThreads(4) { thread in
      for number in 0..<1_000 {
        if thread == 0 { value.value = 1_000_000 * (number + 1) } else { value.update { $0 += 1 } }
      }
    }
    await value.quiesce()
    #expect(changes.count == 4_000)
    var last = 0
    for change in changes.values {
      #expect(change.old == last)
      last = change.new
    }
    #expect(last == value.value)
  }

  @Test func initialJoinsWithoutAGapUnderRacingThreads() async {
    let value = Observed(0)
    let isOver = Gate()
    let setters = (0..<2).map { _ in startThread { while !isOver.isOpen { value.update { $0 += 1 } } } }
    for _ in 0..<300 {
      let seen = Recorder<Int>()
      let token = value.changes(initial: true).addHandler { seen.record($0.new) }
      while seen.count < 5 { await Task.yield() }
      value.remove(token)
      let values = seen.values
      #expect(values == Array(values[0]..<values[0] + values.count))
    }
    isOver.open()
    for setter in setters { await setter.opened() }
  }

  @Test func theOldValueIsReleased() {
    let live = LiveCount()
    let value = Observed<Canary?>(Canary(live))
    value.value = Canary(live)
    #expect(live.alive == 1)
    value.addHandler { _ in }
    value.value = nil
    #expect(live.alive == 0)
  }

  @Test func aHandlerThatSetsTheValueBeforeItChangesDoesNotKeepAnUpdateFromEnding() {
    let value = Observed(0)
    let changes = Recorder<String>()
    value.changes(prior: true).addHandler { change in
      if !change.isPrior { changes.record("\(change)") }
      if change.isPrior, change.new > 10 { value.value = 10 }
    }
    value.update { $0 += 20 }
    #expect(value.value == 10)
    #expect(changes.values.last == "30 → 10")
  }

  @Test func anObservableObjectsValueIsAnEvent() async {
    guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return }
    let model = await Model()
    let seen = Recorder<Int>()
    weak var weakEvent: Event<Int>?
    do {
      let event = Event(observing: { @MainActor in model.count })
      weakEvent = event
      event.addHandler { seen.record($0) }  // the event may post the initial value before this handler is added
      await MainActor.run { model.count = 1 }
      #expect(await eventually { seen.values.last == 1 })
      await MainActor.run { model.count = 2 }
      #expect(await eventually { seen.values.last == 2 })
    }
    #expect(await eventually { weakEvent == nil })
  }
}

@MainActor @Observable private final class Model {
  var count = 0
}

extension ObservedTests {
  @Test func aHandlerCanBeLockedAndInspected() async {
    let value = Observed(1)
    let seen = Recorder<Int>()
    let token = value.changes().addHandler { seen.record($0.new) }
    value.lock(token)
    value.value = 2
    #expect(value.isLocked(token))
    value.unlock(token)
    value.value = 3
    #expect(seen.values == [3])
    #expect(value.contains(token) && value.handlerCount == 1)
    #expect(await value.handlers().map(\.skippedCount) == [1])
    #expect(value.removeAll() == 1)
    #expect(!value.contains(token))
  }
}

extension ObservedTests {
  @Test func initialIsDeliveredThoughTheValueIsReleasedBeforeTheHandlerJoins() async {
    let seen = Recorder<Int>()
    let (inside, gate) = (Gate(), Gate())
    let box = ConditionLock<Observed<Int>?>(Observed(0))
    box.withLock { $0 }?.newValues.addHandler { new in
      guard new == 1 else { return }
      inside.open()
      gate.wait()
    }
    let setter = startThread {
      let value = box.withLock { $0 }
      value?.value = 1
    }
    await inside.opened()
    await startThread {
      let value = box.withLock { value in
        defer { value = nil }
        return value
      }
      value?.value = 2
      value?.changes(initial: true).addHandler { seen.record($0.new) }
    }.opened()
    gate.open()
    await setter.opened()
    #expect(await eventually { seen.values == [2] })
  }

  /// A value and a keyed event have the verbs of an event.
  @Test func valuesAndKeysHaveTheVerbsOfEvents() async {
    final class Count: EventObserver {
      let accepted = Recorder<String>()
      func observe(_ step: EventStep) { if step.kind == .accepted { accepted.record("\(step.event.number)") } }
    }
    final class Owner: Sendable {}
    let (value, seen, count) = (Observed(0), Recorder<Int>(), Count())
    let observation = value.observe(with: count)
    let token = value.newValues.addHandler(.named("named")) { seen.record($0) }
    #expect(value.contains(where: .named("named")) && value.handlerCount > 0)
    value.value = 1
    await value.withLocked(token) { value.value = 2 }
    #expect(value.lockAll(where: .named("named")) == 1 && value.isLocked(token) && value.unlockAll() == 1)
    value.lock()
    #expect(value.isLocked)
    value.value = 3
    value.unlock()
    observation.end()
    value.value = 4
    #expect(seen.values == [1, 4] && count.accepted.values == Array(repeating: "\(value.identity.number)", count: 3))
    #expect(value.removeAll(where: .named("named")) == 1 && value.handlerCount == 0)

    let (event, owner) = (KeyedEvent<String, Int>(), Owner())
    let key = event["a"].addHandler(owner: owner) { _, number in seen.record(number) }
    await event.withLocked(key) { event.post(5, to: "a") }
    event.post(6, to: "a")
    event.lock(key)
    #expect(seen.values == [1, 4, 6] && event.handlerCount > 0)
    #expect(await event.handlers().filter(\.isLocked).map(\.id) == [key.id])
    #expect(await event.handlers(where: .ownedBy(owner)).map(\.id) == [key.id])
  }
}
