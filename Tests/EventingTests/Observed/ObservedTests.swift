import Eventing
import Observation
import Testing

/// Tests of values whose changes are events.
@Suite(.fewAtATime, .timeLimit(.minutes(30))) struct ObservedTests {
  @Test func optionsSelectTheValuesOfAChange() {
    let value = Observed(1)
    let seen = Recorder<String>()
    value.addHandler(options: .old) { seen.record("old \($0)") }
    value.addHandler(options: .new) { seen.record("new \($0)") }
    value.addHandler { seen.record("both \($0)") }
    value.value = 2
    #expect(seen.values == ["old 1 → –", "new – → 2", "both 1 → 2"])
    #expect(value.value == 2)
  }

  @Test func initialDeliversThePresentValueAtOnceAndThenEveryChange() {
    let value = Observed(1)
    let seen = Recorder<String>()
    value.addHandler(options: [.initial, .old, .new]) { seen.record("\($0)") }
    value.value = 2
    value.addHandler(options: .initial) { seen.record("present \($0)") }
    #expect(seen.values == ["– → 1", "1 → 2", "present – → –"])
  }

  @Test func priorIsDeliveredBeforeTheValueChanges() {
    let value = Observed(1)
    let seen = Recorder<String>()
    value.addHandler(options: [.prior, .old, .new]) { seen.record("\($0), is \(value.value)") }
    value.addHandler { seen.record("\($0)") }
    value.value = 2
    #expect(seen.values == ["before 1 → 2, is 1", "1 → 2, is 2", "1 → 2"])
  }

  @Test func aChangeMadeByAHandlerComesAfterTheFirstChangeHasReachedTheOthers() {
    let value = Observed(0)
    let seen = Recorder<String>()
    value.addHandler(options: [.prior, .new]) { change in
      seen.record("a \(change)")
      if change.new == 1, !change.isPrior { value.value = 2 }
    }
    value.addHandler { seen.record("b \($0)") }
    value.value = 1
    #expect(seen.values == ["a before – → 1", "a – → 1", "b 0 → 1", "a before – → 2", "a – → 2", "b 1 → 2"])
  }

  @Test func aPriorHandlerAddedWithinACallIsCalledBeforeAChangeMadeInThatCall() {
    let value = Observed(0)
    let seen = Recorder<String>()
    value.addHandler(once: true) { _ in
      value.addHandler(options: [.prior, .new]) { seen.record("\($0)") }
      value.value = 2
    }
    value.value = 1
    #expect(seen.values == ["before – → 2", "– → 2"])
  }

  @Test func aChangeMadeByAPriorHandlerComesFirst() {
    let value = Observed(0)
    let seen = Recorder<String>()
    value.addHandler(options: [.prior, .old, .new]) { change in
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
    value.addHandler { changes.record($0) }
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
      last = change.new!
    }
    #expect(last == value.value)
  }

  @Test func initialJoinsWithoutAGapUnderRacingThreads() async {
    let value = Observed(0)
    let isOver = Gate()
    let setters = (0..<2).map { _ in startThread { while !isOver.isOpen { value.update { $0 += 1 } } } }
    for _ in 0..<300 {
      let seen = Recorder<Int>()
      let token = value.addHandler(options: [.initial, .new]) { seen.record($0.new!) }
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
    value.addHandler(options: [.prior, .new]) { change in
      if !change.isPrior { changes.record("\(change)") }
      if change.isPrior, let new = change.new, new > 10 { value.value = 10 }
    }
    value.update { $0 += 20 }
    #expect(value.value == 10)
    #expect(changes.values.last == "– → 10")
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
    let token = value.addHandler(options: .new) { seen.record($0.new ?? 0) }
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
    box.withLock { $0 }?.addHandler { change in
      guard change.new == 1 else { return }
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
      value?.addHandler(options: [.initial, .new]) { seen.record($0.new ?? -1) }
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
    let token = value.values.addHandler(named: "named") { seen.record($0) }
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
