import Synchronization
import Testing

@testable import Eventing
@testable import EventingInspection

/// Tests of the registry and of polls of its events, without a server.
@Suite struct RegistryTests {
  /// Returns the event of the registry with a number; `nil` if there is none.
  private func registered(_ id: UInt64) -> RegisteredEvent? { EventRegistry.events.first { $0.id == id } }

  private func reading(_ event: RegisteredEvent?, isWhole: Bool = true) throws -> EventReading {
    let reading = EventReading()
    #expect(try #require(event).poll(into: reading, isWhole: isWhole))
    return reading
  }

  @Test func anEventJoinsWhenItIsMadeAndGoesWithIt() async throws {
    EventRegistry.start()
    defer { EventRegistry.stop() }
    var event: Event<Int>? = Event("joined")
    let id = try #require(event).identity.number
    let known = try #require(registered(id))
    #expect(known.name == "joined" && known.type == Int.self && known.kind == .event && !known.wasEverHandled)
    event = nil
    #expect(await eventually { registered(id) == nil })  // a poll of another test may retain the event
  }

  @Test func kindsAreTold() throws {
    EventRegistry.start()
    defer { EventRegistry.stop() }
    let keyed = KeyedEvent<String, Int>("keyed")
    let observed = Observed(1)
    let question = EventQuestion<Int, Int>("question")
    let before = Event<Int>("included")
    let registries: [any HandlerRegistry] = [keyed, observed, question, before]
    for registry in registries { EventRegistry.include(registry) }
    let kinds = try registries.map { try #require(registered($0.handlerTable.inspected[0].id)).kind }
    #expect(kinds == [.keyed, .observed, .question, .event])
    withExtendedLifetime((keyed, observed, question, before)) {}
  }

  @Test func aPollReadsWhatHandlersDid() async throws {
    EventRegistry.start()
    defer { EventRegistry.stop() }
    let event = Event<Int>("polled")
    event.addHandler(.named("inline")) { _ in }
    event.addHandler(.named("lane"), on: .inOrder) { (_: Int) async in }
    event.addHandler(.named("throws")) { _ in throw CancellationError() }
    let locked = event.addHandler(.named("locked")) { _ in }
    event.lock(locked)
    for number in 0..<5 { await event.send(number) }
    let read = try reading(registered(event.identity.number))
    #expect(read.sequence == 5 && read.waiting == 0 && read.handlerCount == 4 && !read.isLocked && !read.isFinished)
    #expect(read.handlers.map(\.info.name) == ["inline", "lane", "throws", "locked"])
    #expect(read.handlers.map(\.calls) == [5, 5, 5, 0] && read.handlers.map(\.skipped) == [0, 0, 0, 5])
    #expect(
      read.handlers.map(\.failed) == [0, 0, 5, 0] && read.handlers.map(\.isLocked) == [false, false, false, true])
    #expect(read.handlers.map(\.running) == [nil, 0, nil, nil] && read.handlers[1].ended == 5)
    #expect(read.handlers[1].lane != nil && read.handlers[0].lane == nil)
    #expect(read.handlers[0].info.fileID == #fileID)
    withExtendedLifetime(event) {}
  }

  @Test func aRunningCallAndWhatWaitsBehindItAreSeen() async throws {
    EventRegistry.start()
    defer { EventRegistry.stop() }
    let event = Event<Int>()
    let (began, goOn) = (Signal(), Signal())
    let hasBegun = Task { [next = began.payloads()] in for await _ in next { return } }
    let mayGoOn = goOn.payloads()
    event.addHandler(on: .inOrder) { (_: Int) async in
      began.post(())
      for await _ in mayGoOn { return }
    }
    for number in 0..<3 { event.post(number) }
    await hasBegun.value
    let read = try reading(registered(event.identity.number))
    #expect(read.handlers[0].running == 1 && read.handlers[0].waiting == 2)
    #expect(read.handlers[0].calls == 1 && read.handlers[0].ended == 0)
    for _ in 0..<3 { goOn.post(()) }
    await event.quiesce()
  }

  @Test func aBusyEventShowsWhatWaitsInsideADrainToo() throws {
    EventRegistry.start()
    defer { EventRegistry.stop() }
    let event = Event<Int>()
    let seen = Guarded<[Int]>([])
    let id = event.identity.number
    event.addHandler { number in
      if number == 0 { for next in 1...3 { event.post(next) } }
      guard let known = EventRegistry.events.first(where: { $0.id == id }) else { return }
      let reading = EventReading()
      _ = known.poll(into: reading, isWhole: true)
      seen.withLock { $0.append(reading.isBusy ? reading.waiting : -1) }
    }
    event.post(0)
    #expect(seen.withLock { $0 } == [3, 2, 1, 0])
    event.finish()
  }

  @Test func anIdleEventIsNotReadAgain() throws {
    EventRegistry.start()
    defer { EventRegistry.stop() }
    let event = Event<Int>()
    event.addHandler { _ in }
    event.post(1)
    let known = try #require(registered(event.identity.number))
    let reading = EventReading()
    for isWhole in [true, false] { #expect(known.poll(into: reading, isWhole: isWhole)) }
    #expect(!reading.hasReadHandlers && reading.handlers[0].calls == 1)
    event.post(2)
    #expect(known.poll(into: reading, isWhole: false) && reading.hasReadHandlers && reading.handlers[0].calls == 2)
    let token = event.addHandler { _ in }
    #expect(known.poll(into: reading, isWhole: false) && reading.handlers.count == 2)
    event.remove(token)
    #expect(known.poll(into: reading, isWhole: false) && reading.handlers.count == 1)
  }

  @Test func theNextPollSeesAnUnlock() throws {
    EventRegistry.start()
    defer { EventRegistry.stop() }
    let event = Event<Int>()
    let token = event.addHandler { _ in }
    let known = try #require(registered(event.identity.number))
    let reading = EventReading()
    for holding in [nil, Buffering.oldest(2)] {
      event.lock(token, holding: holding)
      #expect(known.poll(into: reading, isWhole: false) && reading.handlers.map(\.isLocked) == [true])
      event.unlock(token)
      #expect(known.poll(into: reading, isWhole: false) && reading.handlers.map(\.isLocked) == [false])
    }
  }

  @Test func locksAndUnlocksTakeEffectInTheOrderOfTheRequests() async throws {
    EventRegistry.start()
    defer { EventRegistry.stop() }
    let event = Event<Int>()
    let token = event.addHandler { _ in }
    let known = try #require(registered(event.identity.number))
    let results = Guarded<[Bool]>([])
    for isLocked in (0..<200).map({ $0 % 2 == 1 }) {
      known.setLocked(isLocked, handler: token.id, holding: nil) { _ in
        let result = event.isLocked(token)
        results.withLock { $0.append(result) }
      }
    }
    #expect(await eventually { results.withLock { $0.count } == 200 })
    #expect(results.withLock { $0 } == (0..<200).map { $0 % 2 == 1 })
  }

  @Test func aWaitNamesItsEventAndItsHandlers() async throws {
    EventRegistry.start()
    defer { EventRegistry.stop() }
    let event = Event<Int>()
    let (began, goOn) = (Signal(), Signal())
    let hasBegun = Task { [next = began.payloads()] in for await _ in next { return } }
    let mayGoOn = goOn.payloads()
    let token = event.addHandler(on: .inOrder) { (_: Int) async in
      began.post(())
      for await _ in mayGoOn { return }
    }
    let sending = Task { await event.send(1) }
    await hasBegun.value
    let id = event.identity.number
    var wait: PolledWait?
    let isSeen = await eventually {
      wait = PolledWait.all().first { $0.event == id }
      return wait != nil
    }
    #expect(isSeen && wait?.kind == .send && wait?.handlers == [token.id] && wait?.waitsFor == 1 && wait?.by == nil)
    goOn.post(())
    _ = await sending.value
    #expect(!PolledWait.all().contains { $0.event == id })
  }

  @Test func aWaitCountsNoHandlerThatItDoesNotWaitFor() async {
    EventRegistry.start()
    defer { EventRegistry.stop() }
    let (event, goOn) = (Event<Int>(), Signal())
    let mayGoOn = goOn.payloads()
    let first = event.addHandler(on: .inOrder) { [weak event] (number: Int) async in
      if number == 1 { await event?.send(2) }
    }
    let second = event.addHandler(on: .inOrder) { (number: Int) async in
      if number == 2 { for await _ in mayGoOn { return } }
    }
    event.post(1)
    let id = event.identity.number
    var wait: PolledWait?
    let isSeen = await eventually {
      wait = PolledWait.all().first { $0.event == id && !$0.deferred.isEmpty }
      return wait != nil
    }
    #expect(isSeen && wait?.deferred == [first.id] && wait?.handlers == [second.id] && wait?.waitsFor == 1)
    goOn.post(())
    await event.quiesce()
  }

  @Test func forwardsKeysAndLanesAreEdges() throws {
    EventRegistry.start()
    defer { EventRegistry.stop() }
    let (from, to) = (Event<Int>(), Event<Int>())
    from.forward(to: to)
    to.addHandler(on: .main) { (_: Int) in }
    let keyed = KeyedEvent<String, Int>()
    keyed["key"].addHandler { _ in }
    EventRegistry.include(keyed)
    let edges = try [from.identity, to.identity, keyed.identity].flatMap { identity in
      let event = try #require(registered(identity.number))
      return GraphEdge.all(of: event, try reading(event))
    }
    #expect(edges.map(\.kind) == [.forward, .lane, .key])
    #expect(
      edges[0].to.description == "event:\(to.identity.number)" && edges[1].label == "main" && edges[2].label == "key")
    withExtendedLifetime((from, to, keyed)) {}
  }
}

/// Polls a condition that nothing signals, and returns whether it became true.
func eventually(_ isTrue: () throws -> Bool) async rethrows -> Bool {
  var patience = Patience()
  while try !isTrue() {
    if !patience.isLeft() || Task.isCancelled { return try isTrue() }
    try? await Task.sleep(for: .milliseconds(1))
  }
  return true
}
