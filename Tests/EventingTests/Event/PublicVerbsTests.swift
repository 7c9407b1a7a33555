import Eventing
import EventingTesting
import Testing

/// Tests that each public method behaves equally on every kind of source and for every kind of
/// handler.
@Suite(.fewAtATime) struct PublicVerbsTests {
  private final class Owner: Sendable {
    let seen = Recorder<String>()

    @MainActor func note(_ number: Int, _ word: String) async { seen.record("\(number) \(word)") }
  }

  @Test func aKeyedEventLocksAndRemovesTheHandlersOfAllKeys() async {
    let event = KeyedEvent<String, Int>()
    let (seen, owner) = (Recorder<String>(), Owner())
    let token = event["a"].addHandler(.named("one")) { seen.record("one \($0)") }
    event["b"].addHandler(.tagged("tag")) { seen.record("two \($0)") }
    event.anyKey.addHandler(owner: owner) { _, addressed in seen.record("three \(addressed.1)") }
    func post(_ number: Int) -> Set<String> {
      seen.removeAll()
      event.post(number, to: "a")
      event.post(number, to: "b")
      return Set(seen.values.map { String($0.prefix { $0 != " " }) })
    }

    #expect(post(1) == ["one", "two", "three"])
    #expect(event.contains(where: .named("one")) && !event.contains(where: .named("four")))

    #expect(event.lock(token) && event.isLocked(token))
    #expect(post(2) == ["two", "three"])
    #expect(event.unlock(token) && !event.isLocked(token))

    #expect(event.lockAll(where: .named("one")) == 1)
    #expect(post(3) == ["two", "three"])
    #expect(event.unlockAll(where: .named("one")) == 1)

    #expect(event.lockAll(where: .tagged("tag")) == 1)
    #expect(post(4) == ["one", "three"])
    #expect(event.unlockAll(where: .tagged("tag")) == 1)

    #expect(event.lockAll(where: .ownedBy(owner)) == 1)
    #expect(post(5) == ["one", "two"])
    #expect(event.unlockAll(where: .ownedBy(owner)) == 1)

    #expect(event.lockAll() == 3)
    #expect(post(6) == [])
    #expect(event.unlockAll() == 3)

    event.lock()
    #expect(event.isLocked && post(7) == [])
    event.unlock()
    #expect(!event.isLocked && post(8) == ["one", "two", "three"])

    #expect(event.removeAll(where: .tagged("tag")) == 1)
    #expect(post(9) == ["one", "three"])
    #expect(event.removeAll(where: .ownedBy(owner)) == 1)
    #expect(post(10) == ["one"])
    #expect(event.remove(token) && !event.remove(token))
    #expect(post(11) == [] && !event.isLocked(token))
  }

  @Test func aKeyedEventSendsToNoKeyAndToObjects() async {
    let (event, objects, seen) = (KeyedEvent<String, Int>(), KeyedEvent<ObjectKey, Int>(), Recorder<Int>())
    event.untargeted.addHandler { seen.record($0) }
    event["a"].addHandler { seen.record(-$0) }
    #expect(await event.untargeted.send(1).delivered == 1)
    #expect(await event.untargeted.submit(2).report.delivered == 1)
    let object = Owner()
    objects[object].addHandler { seen.record($0) }
    #expect(await objects.submit(3, to: object).report.delivered == 1)
    #expect(await objects.submit(4, to: Owner()).report.reachedNobody)
    #expect(seen.values == [1, 2, 3])
  }

  @Test func aViewRemovesAndAddsSeveral() async {
    let (event, seen) = (Event<Int>(), Recorder<String>())
    let doubled = event.map { $0 * 2 }
    let tokens = doubled.add(contentsOf: [Handler { seen.record("a\($0)") }, Handler { seen.record("b\($0)") }])
    event.post(1)
    #expect(doubled.remove(tokens[0]) && !doubled.remove(tokens[0]))
    event.post(2)
    #expect(seen.values == ["a2", "b2", "b4"])

    let (source, occurrences) = (event.source, event.occurrences)
    let ends = source.addHandler { seen.record("source \($0)") }
    let told = occurrences.addHandler { seen.record("occurrence \($0.payload)") }
    #expect(source.remove(ends) && occurrences.remove(told) && !occurrences.remove(told))
    event.post(9)
    #expect(seen.values.suffix(1) == ["b18"])
    seen.removeAll()

    let observed = Observed(0)
    let changes = observed.changes()
    let change = changes.addHandler { seen.record("change \($0.new)") }
    observed.value = 1
    #expect(changes.remove(change))
    observed.value = 2
    #expect(seen.values == ["change 1"])

    let keyed = KeyedEvent<String, Int>()
    let inA = keyed["a"].add(contentsOf: [Handler { seen.record("in a \($0)") }, Handler { seen.record("too \($0)") }])
    let all = keyed.anyKey.add(contentsOf: [Handler { _ in seen.record("all") }])
    keyed.post(3, to: "a")
    #expect(keyed["a"].remove(inA[1]))
    #expect(keyed.anyKey.remove(all[0]))
    keyed.post(4, to: "a")
    let none = keyed.untargeted.addHandler { seen.record("none \($0)") }
    #expect(keyed.untargeted.remove(none))
    keyed.untargeted.post(5)
    #expect(seen.values.dropFirst() == ["in a 3", "too 3", "all", "in a 4"])
  }

  @Test func anObservedValueRemovesByOwnerAndReportsChangesOnEachLane() async {
    let (observed, owner, seen) = (Observed(1), Owner(), Recorder<String>())
    let plain = observed.changes().add(contentsOf: [
      Handler { (change: ValueChange<Int>) in seen.record("added \(change.old ?? 0) \(change.new)") }
    ])
    observed.changes().addHandler { (change: ValueChange<Int>) async in
      seen.record("async \(change.new)")
    }
    observed.changes().addHandler(on: .main) { change in
      MainActor.assertIsolated()
      seen.record("main \(change.new)")
    }
    observed.changes().addHandler(on: .main) { change async in
      await Task.yield()
      MainActor.assertIsolated()
      seen.record("main async \(change.new)")
    }
    observed.newValues.addHandler(owner: owner) { _, _ in seen.record("owned") }
    observed.value = 2
    await observed.quiesce()
    #expect(Set(seen.values) == ["added 1 2", "async 2", "main 2", "main async 2", "owned"])
    #expect(observed.removeAll(where: .ownedBy(owner)) == 1)
    #expect(observed.remove(plain[0]))
    seen.removeAll()
    observed.value = 3
    await observed.quiesce()
    #expect(Set(seen.values) == ["async 3", "main 3", "main async 3"])
  }

  @Test @MainActor func aBusTakesEachKindOfHandlerOfAType() async {
    let (bus, seen) = (EventBus(), Recorder<String>())
    bus.event(for: Int.self).addHandler { (number: Int) async in seen.record("async \(number)") }
    bus.event(for: Int.self).addHandler(on: .main) { seen.record("main \($0)") }
    bus.event(for: Int.self).addHandler(on: .main) { number async in
      await Task.yield()
      seen.record("main async \(number)")
    }
    await bus.send(7)
    #expect(Set(seen.values) == ["async 7", "main 7", "main async 7"])
  }

  @Test func handlersOfVoidReceiveTheirOwner() async {
    let (event, owner) = (Event<Void>(), Owner())
    event.addHandler(owner: owner) { (owner: Owner) async in owner.seen.record("async") }
    event.addHandler(on: .main, owner: owner) { (owner: Owner) async in
      await Task.yield()
      MainActor.assertIsolated()
      owner.seen.record("main async")
    }
    await event.send()
    #expect(Set(owner.seen.values) == ["async", "main async"])
  }

  @Test func aMethodOnTheMainActorIsBoundWithItsFurtherArguments() async {
    let (event, owner) = (Event<Int>(), Owner())
    event.addHandler(on: .main, owner: owner) { await $0.note($1, "bound") }
    await event.send(5)
    #expect(owner.seen.values == ["5 bound"])
  }

  @Test func onceOnTheMainActorIsOneCall() async {
    let (event, seen) = (Event<Int>(), Recorder<Int>())
    event.once(on: .main) { number async in
      await Task.yield()
      MainActor.assertIsolated()
      seen.record(number)
    }
    event.once(on: .main) { seen.record(-$0) }
    await event.send(1)
    await event.send(2)
    #expect(Set(seen.values) == [1, -1])
  }

  @Test func severalTokensGoIntoABag() {
    let (event, bag) = (Event<Int>(), HandlerBag())
    (0..<3).map { _ in event.addHandler { _ in } }.store(in: bag)
    #expect(event.handlerCount == 3)
    bag.removeAll()
    #expect(event.handlerCount == 0)
  }

  @Test func anObserverThatDoesNothingHarmsNothing() async {
    struct Idle: EventObserver { func observe(_ step: EventStep) {} }
    let (event, gate) = (Event<Int>(), Gate())
    let observation = event.observe(with: Idle())
    let skipped = event.addHandler { _ in }
    let held = event.addHandler { _ in }
    event.lock(skipped)
    event.lock(held, holding: .oldest(4))
    event.addHandler(.buffering(.newest(1)), on: .inOrder) { _ in await gate.opened() }
    for number in 0..<4 { event.post(number) }
    gate.open()
    await event.quiesce()
    #expect(await event.handlers().map(\.skippedCount).first == 4)
    observation.end()
  }

  @Test func aManualClockSaysWhereItIs() async throws {
    let clock = ManualClock()
    let start = clock.now
    clock.advance(by: .seconds(2))
    #expect(start.duration(to: clock.now) == .seconds(2))
    #expect("\(clock.now)" == "\(Duration.seconds(2))")
    #expect(clock.minimumResolution == .zero)
    let woken = Recorder<Int>()
    let sleepers = [3, 1, 2, 3].map { number in
      Task {
        try await clock.sleep(for: .seconds(number))
        woken.record(number)
      }
    }
    #expect(await eventually { clock.sleeperCount == 4 })
    for number in 1...3 {
      clock.advance(by: .seconds(1))
      #expect(await eventually { woken.count == (number == 3 ? 4 : number) })
    }
    for sleeper in sleepers { try await sleeper.value }
    #expect(woken.values == [1, 2, 3, 3])
  }
}
