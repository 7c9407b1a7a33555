import Eventing
import EventingTesting
import Testing

/// Tests of the verbs that all types with handlers share, where these types differ.
@Suite(.fewAtATime) struct HandlerRegistryTests {
  private final class Owner: Sendable {}

  /// A type of a user that wraps an event.
  private struct Shop: HandlerRegistry {
    let orders = Event<Int>("orders")
    var handlerTable: HandlerTable { orders.handlerTable }
  }

  @Test func everyKindHasTheVerbs() async throws {
    let (keyed, value, question) = (KeyedEvent<String, Int>("keyed"), Observed(0), EventQuestion<Int, Int>("question"))
    let (event, shop, bus) = (Event<Int>("event"), Shop(), EventBus())
    var cases: [(any HandlerRegistry, HandlerToken, String?)] = []
    cases.append((event, event.addHandler(.named("one")) { _ in }, "event"))
    cases.append((shop, shop.orders.addHandler(.named("one")) { _ in }, "orders"))
    cases.append((keyed, keyed["a"].addHandler(.named("one")) { _ in }, "keyed"))
    cases.append((value, value.newValues.addHandler(.named("one")) { _ in }, nil))
    cases.append((question, question.addResponder(.named("one")) { $0 }, "question"))
    cases.append((bus, bus.event(for: Int.self).addHandler(.named("one")) { _ in }, nil))
    for (registry, token, name) in cases {
      #expect(registry.name == name)
      #expect(registry.handlerCount == 1 && registry.contains(token) && registry.contains(where: .named("one")))
      #expect(registry.lock(token) && registry.isLocked(token) && !registry.isLocked)
      #expect(await registry.handlers(where: .named("one")).map(\.isLocked) == [true])
      #expect(registry.unlock(token) && registry.lockAll() == 1 && registry.unlockAll() == 1)
      registry.lock()
      #expect(registry.isLocked && !registry.isLocked(token))
      registry.unlock()
      await registry.withLocked(token) { #expect(registry.isLocked(token)) }
      await registry.quiesce()
      let observer = EventRecorderOfSteps()
      let registration = registry.observe(with: observer)
      await registry.quiesce()
      #expect(observer.kinds.contains(.added))
      registration.end()
      #expect(!registry.isFinished && !registry.isLocked)
      #expect(registry.remove(token) && !registry.remove(token) && !registry.contains(token))
      #expect(registry.removeAll() == 0 && !registry.lock(token) && !registry.unlock(token))
      registry.finish()
      #expect(registry.isFinished == (registry as? EventBus == nil))
    }
  }

  @Test func aStrangersTokenChangesNothing() async {
    let (event, other) = (Event<Int>(), Event<Int>())
    let token = other.addHandler { _ in }
    #expect(!event.remove(token) && !event.lock(token) && !event.unlock(token) && !event.contains(token))
    await event.withLocked(token) { #expect(!other.isLocked(token)) }
    #expect(other.contains(token))
  }

  // MARK: Buses

  @Test func aBusHasTheHandlersOfAllItsEvents() async {
    let (bus, seen) = (EventBus(), Recorder<String>())
    let number = bus.event(for: Int.self).addHandler(.named("mail")) { seen.record("\($0)") }
    let text = bus.event(for: String.self).addHandler(.named("mail")) { seen.record($0) }
    #expect(bus.handlerCount == 2 && bus.contains(number) && bus.contains(text))
    #expect(bus.lockAll(where: .named("mail")) == 2)
    bus.post(1)
    bus.post("a")
    #expect(await bus.handlers().map(\.id) == [number.id, text.id])
    #expect(bus.unlock(number) && bus.isLocked(text))
    bus.post(2)
    bus.lock()
    bus.event(for: Bool.self).addHandler { seen.record("\($0)") }
    #expect(!bus.isLocked)  // the event of a Bool was made later
    bus.post(3)
    bus.post(true)
    bus.unlock()
    #expect(bus.unlockAll() == 3)
    bus.post("b")
    #expect(seen.values == ["2", "true", "b"])
    #expect(bus.removeAll(where: .named("mail")) == 2 && bus.handlerCount == 1)
    #expect(!bus.isFinished)
    let event = bus.event(for: Bool.self)
    bus.finish()
    #expect(event.isFinished && bus.handlerCount == 0 && bus.event(for: Bool.self) !== event)
  }

  @Test func aHandlerOfAllEventsIsRemovedOnceAndNotLocked() {
    let (bus, seen) = (EventBus(), Recorder<String>())
    let token = bus.all(as: (any Sendable).self).addHandler(.named("audit")) { seen.record("\($0)") }
    bus.post(1)
    bus.post("a")
    #expect(bus.contains(token) && !bus.lock(token) && !bus.isLocked(token))
    bus.post(2)
    #expect(bus.removeAll(where: .named("audit")) == 1)
    #expect(!bus.contains(token) && !bus.remove(token))
    bus.post(3)
    bus.post(true)
    #expect(seen.values == ["1", "a", "2"])
  }

  @Test func theForwardsOfABusStay() {
    let (bus, seen) = (EventBus(), Recorder<String>())
    bus.event(for: Int.self).addHandler { _ in }
    let all = bus.event(for: (any CustomStringConvertible & Sendable).self)
    #expect(bus.removeAll() == 1)
    all.addHandler { seen.record($0.description) }
    bus.post(1)
    bus.post("a")
    #expect(seen.values == ["1", "a"])
  }

  // MARK: Tokens

  @Test func aTokenRemovesItsHandlerWithoutTheEvent() async {
    let (event, seen) = (Event<Int>(), Recorder<Int>())
    let token = event.addHandler { seen.record($0) }
    event.post(1)
    #expect(token.remove() && !token.remove() && !event.contains(token))
    event.post(2)
    #expect(seen.values == [1] && event.handlerCount == 0)
    let removed = event.addHandler { seen.record($0) }
    #expect(event.remove(removed) && !removed.remove())
  }

  @Test func aTokenOutlivesItsEvent() {
    let live = LiveCount()
    var event: Event<Int>? = Event<Int>()
    let token = event!.addHandler { [canary = Canary(live)] _ in _ = canary }
    event = nil
    #expect(!token.remove() && live.alive == 0)
  }

  // MARK: A wait with a limit

  @Test func aWaitWithALimitEndsInTimeWhileAHandlerRuns() async {
    let (event, clock, gate) = (Event<Int>(), ManualClock(), Gate())
    event.addHandler { _ in await gate.opened() }
    event.post(1)
    async let isQuiet = event.quiesce(within: .seconds(5), clock: clock)
    #expect(await eventually { clock.sleeperCount == 1 })
    clock.advance(by: .seconds(5))
    #expect(await isQuiet == false)
    async let isQuietLater = event.quiesce(within: .seconds(5), clock: clock)
    #expect(await eventually { clock.sleeperCount == 1 })
    gate.open()
    #expect(await isQuietLater)
    #expect(await eventually { clock.sleeperCount == 0 })
  }

  @Test func aLimitOfZeroTellsWhetherACallRuns() async {
    let (event, gate) = (Event<Int>(), Gate())
    #expect(await event.quiesce(within: .zero))
    event.addHandler { _ in await gate.opened() }
    // The thread that made the call above may be just leaving the event.
    while await !event.quiesce(within: .zero) { await Task.yield() }
    event.post(1)
    #expect(await event.quiesce(within: .zero) == false)
    #expect(await event.quiesce(within: .seconds(-1)) == false)
    gate.open()
    #expect(await event.quiesce(within: .seconds(200 * 366 * 86_400)))
  }

  @Test func cancellationEndsAWaitWithALimit() async {
    let (event, clock, gate) = (Event<Int>(), ManualClock(), Gate())
    event.addHandler { _ in await gate.opened() }
    event.post(1)
    let task = Task { await event.quiesce(within: .seconds(5), clock: clock) }
    #expect(await eventually { clock.sleeperCount == 1 })
    task.cancel()
    #expect(await task.value == false)
    gate.open()
    let late = Task {
      while !Task.isCancelled { await Task.yield() }
      return await Event<Int>().quiesce(within: .seconds(5), clock: clock)
    }
    late.cancel()
    #expect(await late.value)  // nothing is running
  }

  @Test func aWaitWithALimitCoversCombinationsDeadLettersAndBuses() async {
    struct Wrong: Error {}
    let gate = Gate()
    let (first, second) = (Observed(1), Observed(2))
    first.combineLatest(second).addHandler { _, _ in await gate.opened() }
    first.value = 3
    #expect(await first.quiesce(within: .zero) == false)
    let event = Event<Int>()
    event.deadLetters.addHandler { _ in await gate.opened() }
    event.addHandler { _ in throw Wrong() }
    event.post(1)
    #expect(await event.quiesce(within: .zero) == false)
    let bus = EventBus()
    bus.event(for: String.self).addHandler { _ in }
    bus.event(for: Int.self).addHandler { _ in await gate.opened() }
    bus.post(1)
    #expect(await bus.quiesce(within: .zero) == false)
    gate.open()
    #expect(await first.quiesce(within: .seconds(60)))
    #expect(await event.quiesce(within: .seconds(60)))
    #expect(await bus.quiesce(within: .seconds(60)))
  }

  @Test func aHandlerWaitsNotForItself() async {
    let (event, results) = (Event<Int>(), Recorder<Bool>())
    event.addHandler { [weak event] _ in
      if let isQuiet = await event?.quiesce(within: .seconds(60)) { results.record(isQuiet) }
    }
    await event.send(1)
    #expect(results.values == [true])
  }
}

private final class EventRecorderOfSteps: EventObserver {
  private let steps = Recorder<EventStep.Kind>()
  var kinds: [EventStep.Kind] { steps.values }
  func observe(_ step: EventStep) { steps.record(step.kind) }
}
