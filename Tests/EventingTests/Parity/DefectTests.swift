import Eventing
import Testing

/// Faults of AFFEvent, IKEvents and emitter-kit, which must not occur here.
///
/// Each was found by reading the sources of these libraries, or reproduced with these sources.
@Suite(.fewAtATime) struct DefectTests {
  // MARK: 1. A once handler that sends its own event runs again (all three libraries)
  //
  // Two concurrent sends call the handler twice.

  @Test func onceHandlerThatSendsItsOwnEventDoesNotRunAgain() async {
    let event = Event<Int>()
    let (inline, lane) = (Counter(), Counter())
    event.once { [weak event] _ in
      inline.add()
      event?.post(2)
    }
    event.once { [weak event] _ in
      lane.add()
      await event?.send(3)
    }
    await comesBack { await event.send(1) }
    await event.quiesce()
    #expect(inline.value == 1)
    #expect(lane.value == 1)
  }

  @Test func onceHandlersRunOnceUnderConcurrentSends() async {
    let event = Event<Int>()
    let calls = (0..<100).map { _ in Counter() }
    for counter in calls { event.once { _ in counter.add() } }
    await onThreads(4) { _ in for _ in 0..<25 { event.post(1) } }
    await event.quiesce()
    #expect(calls.map(\.value) == Array(repeating: 1, count: 100))
  }

  // MARK: 2. A handler added during a send is lost (IKEvents, emitter-kit)
  //
  // In these libraries the program crashes when the lost handler is stopped later.

  @Test func handlerThatIsAddedDuringASendIsKeptAndCanBeRemoved() {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    let added = Recorder<HandlerToken>()
    event.once { [weak event] _ in
      guard let event else { return }
      for _ in 0..<10 { added.record(event.addHandler { seen.record($0) }) }
    }
    event.post(1)
    event.post(2)
    #expect(seen.values == Array(repeating: 2, count: 10))
    #expect(event.removeAll(where: .oneOf(added.values)) == 10)
    #expect(event.handlerCount == 0)
  }

  // MARK: 3. A handler removed during a send still runs (AFFEvent), or comes back (IKEvents)

  @Test func handlerThatIsRemovedDuringASendNeitherRunsNorComesBack() {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    event.addHandler { [weak event] _ in
      event?.removeAll(where: .named("removed"))
      event?.addHandler(.named("added")) { _ in }
    }
    for _ in 0..<10 { event.addHandler(.named("removed")) { seen.record($0) } }
    for number in 1...3 { event.post(number) }
    #expect(seen.values == [])
    #expect(!event.contains(where: .named("removed")))
    #expect(event.removeAll(where: .named("added")) == 3)
  }

  // MARK: 4. Handlers of a released object are called for a later object at its address
  //
  // In emitter-kit, send number *k* called *k* handlers: 1,000 sends made 500,500 calls, of which
  // 1,000 were due.

  @Test func releasedTargetsReceiveNothing() {
    let event = KeyedEvent<ObjectKey, Int>()
    let calls = Counter()
    for number in 0..<1_000 {
      let target = Lookalike()
      event[target].addHandler { _ in calls.add() }
      event.post(number, to: target)
    }
    #expect(calls.value == 1_000)
  }

  @Test func releasedOwnersReceiveNothingAndHaveNoEvents() async throws {
    let (event, bus) = (Event<Int>(), EventBus())
    let (owned, found) = (Counter(), Counter())
    weak var before: Lookalike?
    for number in 0..<1_000 {
      // An inspection that another test has begun may retain an owner for a moment.
      #expect(await eventually { before == nil })
      let owner = Lookalike()
      before = owner
      event.addHandler(owner: owner) { _, _ in owned.add() }
      event.post(number)
      let mine = try bus.event(EventKey<Int>("mine"), of: owner)
      mine.addHandler { _ in found.add() }
      mine.post(number)
      withExtendedLifetime(owner) {}
    }
    #expect(owned.value == 1_000)
    #expect(found.value == 1_000)
  }

  // MARK: 5. A dropped token silently stops its handler (emitter-kit)
  //
  // Users complained of this in five discussions.

  @Test func handlersGoOnWhenTheirTokensAreDropped() async {
    let event = Event<Int>()
    for _ in 0..<10 { _ = event.addHandler { _ in } }
    event.addHandler(on: .background) { _ in }
    event.addHandler { _ async in }
    #expect(await event.send(1).delivered == 12)
    #expect(await event.send(2).delivered == 12)
  }

  // MARK: 6. Pausing and resuming a handler moves it to the end of the order (emitter-kit)

  @Test func pausedAndResumedHandlerKeepsItsPlace() {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    let tokens = (0..<5).map { number in event.addHandler { _ in seen.record(number) } }
    for token in tokens.reversed() {
      event.lock(token)
      event.post(1)
      event.unlock(token)
    }
    seen.removeAll()
    event.post(2)
    #expect(seen.values == [0, 1, 2, 3, 4])
  }

  // MARK: 7. A send from a worker blocks on the main thread (IKEvents)
  //
  // If the main thread waits for that worker, the two deadlock.

  @MainActor @Test func workerThatMainWaitsForCanSend() async {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    event.addHandler(on: .main) { seen.record($0) }
    event.addHandler(on: .main) { number in
      await Task.yield()
      seen.record(10 * number)
    }
    let posted = startThread { for number in 1...3 { event.post(number) } }
    holdMainActor(until: posted)
    #expect(seen.values == [])
    await event.quiesce()
    #expect(seen.values.sorted() == [1, 2, 3, 10, 20, 30])
  }

  @MainActor private func holdMainActor(until gate: Gate) { gate.wait() }
}
