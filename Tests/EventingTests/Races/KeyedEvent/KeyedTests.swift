import Eventing
import Testing

/// Tests of keyed events: one order over all keys (G1, G3), object keys (G10), and memory (G22).
@Suite(.fewAtATime) struct KeyedTests {
  @Test func handlersOfAKeyAndOfAnyKeyRunByPriorityAndThenAsTheyWereAdded() {
    let event = KeyedEvent<String, Int>()
    let seen = Recorder<String>()
    event["a"].addHandler { seen.record("a1 \($0)") }
    event.anyKey.addHandler { key, number in seen.record("any2 \(key) \(number)") }
    event["a"].addHandler(.priority(1)) { seen.record("first \($0)") }
    event["b"].addHandler { seen.record("b \($0)") }
    event["a"].addHandler { seen.record("a3 \($0)") }
    event.anyKey.addHandler(.priority(-1)) { _, number in seen.record("last \(number)") }
    event.anyKey.addHandler(.priority(1)) { _, number in seen.record("second \(number)") }
    event.untargeted.addHandler { seen.record("untargeted \($0)") }
    event.post(1, to: "a")
    #expect(seen.values == ["first 1", "second 1", "a1 1", "any2 a 1", "a3 1", "last 1"])
    seen.removeAll()
    event.post(2, to: "c")
    #expect(seen.values == ["second 2", "any2 c 2", "last 2"])
    seen.removeAll()
    event.untargeted.post(3)
    #expect(seen.values == ["untargeted 3"])
  }

  @Test func handlersAreListedAndReleasedInTheOrderOfCalls() async {
    final class End: Sendable {
      let (name, ends): (String, Recorder<String>)
      init(_ name: String, _ ends: Recorder<String>) { (self.name, self.ends) = (name, ends) }
      deinit { ends.record(name) }
    }
    for isFinished in [false, true] {
      let (event, ends) = (KeyedEvent<String, Int>(), Recorder<String>())
      for (name, priority) in [("a", 0), ("b", 0), ("c", 1)] {
        let end = End(name, ends)
        event[name].addHandler(.named(name), .priority(priority)) { _ in _ = end }
      }
      let end = End("any", ends)
      event.anyKey.addHandler(.named("any")) { _ in _ = end }
      #expect(await event.handlers().map(\.name) == ["c", "a", "b", "any"])
      if isFinished { event.finish() } else { event.removeAll() }
      await event.quiesce()
      #expect(ends.values.prefix(3) == ["c", "a", "b"])
    }
  }

  @Test func thereIsOneOrderOverAllKeys() async {
    let event = KeyedEvent<Int, Int>()
    let (all, own) = (Recorder<Int>(), (0..<3).map { _ in Recorder<Int>() })
    event.anyKey.addHandler { _, number in all.record(number) }
    for key in 0..<3 { event[key].addHandler { number async in own[key].record(number) } }
    await onThreads(4) { thread in
      for number in 0..<600 { event.post(thread * 1_000 + number, to: number % 3) }
    }
    await event.quiesce()
    #expect(all.count == 2_400)
    for key in 0..<3 { #expect(own[key].values == all.values.filter { $0 % 1_000 % 3 == key }) }
  }

  @Test func aDuplicateKeyIsSentToOnce() async {
    let event = KeyedEvent<Int, String>()
    let seen = Recorder<String>()
    for key in 0..<3 { event[key].addHandler { seen.record("\(key) \($0)") } }
    event.post("x", to: [2, 0, 2, 7])
    #expect(seen.values == ["2 x", "0 x"])
    let report = await event.send("y", to: 1)
    #expect((report.delivered, report.sequence) == (1, 4))
    #expect(await event.submit("z", to: 9).report.reachedNobody)
  }

  @Test func aSendToSeveralKeysWaitsForAll() async {
    let (event, seen) = (KeyedEvent<String, Int>(), Recorder<String>())
    event["a"].addHandler { seen.record("a \($0)") }
    event["b"].addHandler(on: .background) { seen.record("b \($0)") }
    let reports = await event.send(1, to: ["b", "a", "b", "c"])
    #expect(reports.map(\.delivered) == [1, 1, 0])
    #expect(seen.values.sorted() == ["a 1", "b 1"])
    let (objects, one) = (KeyedEvent<ObjectKey, Int>(), Plain())
    objects.anyKey.addHandler { key, _ in seen.record("\(key.object === one)") }
    #expect(await objects.send(1, to: [one, one].map(ObjectKey.init)).map(\.delivered) == [1])
    #expect(seen.values.last == "true")
  }

  @Test func aSendToSeveralKeysWaitsForRoom() async {
    let (event, seen) = (KeyedEvent<String, Int>(), Recorder<Int>())
    let payloads = event["a"].payloads(buffering: .suspendingSender(1))
    event["b"].addHandler { seen.record($0) }
    event.post(0, to: "a")
    let send = Task { await event.send(1, to: ["a", "b"]) }
    #expect(await eventually { seen.values == [1] })
    event.finish()
    var received: [Int] = []
    for await payload in payloads { received.append(payload) }
    #expect(received == [0, 1], "the buffer was full when 1 came, and must not drop it")
    #expect(await send.value.map(\.dropped) == [0, 0])
  }

  @Test func aSendToSeveralKeysRunsTaskHandlersAsItsChildren() async {
    let (event, seen) = (KeyedEvent<String, Int>(), Recorder<String>())
    for key in ["a", "b"] {
      event[key].addHandler(on: .task) { _ in
        seen.record("begun")
        try? await Task.sleep(for: .seconds(10))
        seen.record("cancelled \(Task.isCancelled)")
      }
    }
    let send = Task { await event.send(1, to: ["a", "b"]) }
    #expect(await eventually { seen.values == ["begun", "begun"] }, "the tasks run side by side")
    send.cancel()
    #expect(await send.value.map(\.delivered) == [1, 1])
    #expect(seen.values.suffix(2) == ["cancelled true", "cancelled true"])
  }

  @Test func handlersComeAndGoWhileTheEventIsBusy() async {
    let event = KeyedEvent<Int, Int>()
    let seen = Recorder<Int>()
    let token = event[1].addHandler { number in
      seen.record(number)
      guard number == 1 else { return }
      event[2].addHandler { seen.record(10 * $0) }
      event.post(2, to: 2)
    }
    event.post(1, to: 1)
    #expect(seen.values == [1, 20])
    event.lock(token)
    event.post(3, to: 1)
    event.unlock(token)
    #expect(event.remove(token))
    event.post(4, to: 1)
    #expect(seen.values == [1, 20])
    #expect(event.handlerCount == 1)
    event[2].once { _ in }
    event.post(5, to: 2)
    #expect(event.handlerCount == 1)
  }

  @Test func anObjectIsHeldWeaklyAndNoLaterOneIsTakenForIt() async {
    let event = KeyedEvent<ObjectKey, Int>()
    let seen = Recorder<Int>()
    for round in 0..<1_000 {
      let object = Plain()
      event[object].addHandler { _ in seen.record(round) }
      event.post(0, to: object)
    }
    #expect(seen.values == Array(0..<1_000))
    #expect(event.handlerCount < 200)  // each add removes a few handlers of released objects
  }

  @Test func anObjectAtTheAddressOfAReleasedOneTakesTheKeyOver() async throws {
    let event = KeyedEvent<ObjectKey, Int>()
    let seen = Recorder<String>()
    var keys: [ObjectKey] = []
    var (object, tokens) = (Plain(), [HandlerToken]())
    // The 100 objects share few addresses. In an optimized build, each object gets the address of
    // its predecessor. In a debug build, `object = Plain()` creates the new object before it
    // releases the old one. So the address of the old object is used again only by a later object.
    for index in 0..<100 {
      keys.append(ObjectKey(object))
      tokens.append(event[object].addHandler { seen.record("\(index) \($0)") })
      event.post(1, to: object)
      if index < 99 { object = Plain() }
    }
    #expect(seen.values == (0..<100).map { "\($0) 1" })
    for key in keys { event.post(2, to: key) }
    #expect(seen.values.dropFirst(100) == ["99 2"])
    event[keys[0]].addHandler { seen.record("too late \($0)") }
    event.post(3, to: object)
    // Handlers of released objects may be removed already.
    #expect(event.removeAll(where: .oneOf(tokens.dropLast())) <= 99)
    event.post(4, to: object)
    #expect(seen.values.dropFirst(101) == ["99 3", "99 4"])
    #expect(event.remove(tokens[99]))
    event.post(5, to: object)
    #expect(seen.values.count == 103)
  }

  @Test func theKeyOfAReleasedObjectReachesNoHandler() async {
    let event = KeyedEvent<ObjectKey, Int>()
    let seen = Recorder<Int>()
    var object: Plain? = Plain()
    let key = ObjectKey(object!)
    event[key].addHandler { seen.record($0) }
    event.post(1, to: key)
    object = nil
    #expect(key.object == nil)
    #expect(key == key)
    let other = Plain()
    #expect(ObjectKey(other) != key)
    #expect(ObjectKey(other) == ObjectKey(other))
    #expect(seen.values == [1])
  }

  @Test func aHundredThousandKeysLeaveNothing() async {
    let event = KeyedEvent<Int, Int>()
    let closures = LiveCount()
    let many = 100_000
    await onThread {
      for key in 0..<many {
        event.post(0, to: key)
        let canary = Canary(closures)
        event[key].once { _ in canary.sing() }
        event.post(0, to: key)
      }
    }
    #expect(closures.alive == 0)
    #expect(event.handlerCount == 0)
    await onThread { for key in 0..<many { event[key].addHandler { _ in } } }
    #expect(event.handlerCount == many)
    #expect(await onThread { event.removeAll() } == many)
    await event.quiesce()
    #expect(event.handlerCount == 0)
  }

  @Test func anInterceptorOfAnyKeyStopsTheHandlersOfAKey() async {
    let event = KeyedEvent<Int, Int>()
    event.intercept { _, number in number < 0 ? .stop : .proceed }
    event[1].addHandler { _ in }
    event[1].addHandler(on: .background) { _ in }
    let report = await event.send(-1, to: 1)
    #expect((report.delivered, report.skipped) == (1, 2))
  }

  @Test func anEventThatGoesReleasesTheHandlersOfAllKeys() {
    let closures = LiveCount()
    do {
      let event = KeyedEvent<Int, Int>()
      for key in 0..<10 {
        let canary = Canary(closures)
        event[key].addHandler(.priority(key)) { _ in canary.sing() }
        event.untargeted.addHandler { _ in canary.sing() }
      }
      event.post(1, to: 1)
    }
    #expect(closures.alive == 0)
  }

  @Test func finishReleasesTheHandlersOfAllKeys() async {
    let event = KeyedEvent<Int, Int>()
    let closures = LiveCount()
    for key in 0..<10 {
      let canary = Canary(closures)
      event[key].addHandler { _ in canary.sing() }
    }
    event.finish()
    #expect(closures.alive == 0)
    #expect(!event.contains(event[3].addHandler { _ in }))
  }
}

extension KeyedTests {
  @Test func theHandlersOfOneKeyCanBeInspectedAndLockedByName() async {
    let event = KeyedEvent<Int, String>("moved")
    let seen = Recorder<String>()
    event[1].addHandler(.named("one")) { seen.record("1 \($0)") }
    event[2].addHandler(.named("two")) { seen.record("2 \($0)") }
    event.anyKey.occurrences.addHandler(.named("any")) { occurrence in
      seen.record(
        "\(occurrence.eventName ?? "") \(occurrence.sequence) \(occurrence.payload.key) \(occurrence.sender === seen)")
    }
    #expect(await event.handlers(where: .key(1, of: event)).map(\.name) == ["one"])
    #expect(await event.handlers().count == 3)
    #expect(event.lockAll(where: .named("two")) == 1)
    event.post("x", to: [1, 2], from: seen)
    await event.quiesce()  // the inspections may still keep the event busy, so that `post` enqueues "x"
    #expect(seen.values == ["1 x", "moved 1 1 true", "moved 2 2 true"])
  }
}

extension KeyedTests {
  /// A key whose `deinit` calls the event.
  private struct Fragile: Hashable, Sendable {
    let canary: Canary?
    static func == (a: Fragile, b: Fragile) -> Bool { true }
    func hash(into hasher: inout Hasher) {}
  }

  @Test func aKeyWhoseDeinitCallsTheEventIsReleasedOutsideOfTheMutex() async {
    let event = KeyedEvent<Fragile, Int>()
    let (live, seen) = (LiveCount(), Counter())
    for number in 0..<10 {
      let canary = number == 5 ? Canary(live) { event.post(0, to: Fragile(canary: nil)) } : nil
      event[Fragile(canary: canary)].addHandler(.named("h\(number)")) { _ in seen.add() }
    }
    await comesBack {
      #expect(event.removeAll(where: .named("h5")) == 1)
      event.post(1, to: Fragile(canary: nil))
      event.removeAll()
      await event.quiesce()
    }
    #expect(await eventually { live.alive == 0 })
    // Other tests inspect all events of the process, which may delay the release of the key until
    // after `removeAll()`. Then the post in the `deinit` finds no handlers.
    #expect([9, 18].contains(seen.value))
  }

  @Test func snapshotsCountTheOccurrencesOfTheirKey() async {
    let event = KeyedEvent<Int, Int>()
    event[1].addHandler(.named("1")) { _ in }
    event.anyKey.addHandler(.named("any")) { _ in }
    for number in 0..<5 { event.post(number, to: 2) }
    event.untargeted.post(5)
    event[2].addHandler(.named("2")) { _ in }
    event.post(6, to: 2)
    let counts = await Dictionary(uniqueKeysWithValues: event.handlers().map { ($0.name ?? "", $0.callCount) })
    #expect(counts == ["1": 0, "any": 6, "2": 1])
    #expect(await event.untargeted.handlers().isEmpty && event.handlerCount == 3)
  }
}
