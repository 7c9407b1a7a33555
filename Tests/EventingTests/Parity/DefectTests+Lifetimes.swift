import Eventing
import Testing

extension DefectTests {
  // MARK: 8. Payloads, closures, locks and bound arguments (AFFEvent)
  //
  // The payload is freed before a background handler reads it. Every block leaks. Locks match by
  // selector name only. More than 19 bound arguments are silently not delivered.

  @Test func payloadLivesUntilItsLastHandlerHasReadItAndNoLonger() async {
    let event = Event<Canary>()
    let (live, gate, seen) = (LiveCount(), Gate(), Recorder<Int>())
    event.addHandler(on: .background) { canary in
      gate.wait()
      canary.sing()
      seen.record(live.alive)
    }
    event.post(Canary(live))
    #expect(live.alive == 1)
    gate.open()
    await event.quiesce()
    #expect(seen.values == [1])
    #expect(await eventually { live.alive == 0 })
  }

  @Test func closuresAreReleasedWhenTheirHandlersGo() async {
    let (event, live) = (Event<Int>(), LiveCount())
    func body() -> @Sendable (Int) -> Void { { [canary = Canary(live)] _ in canary.sing() } }
    let tokens = [
      event.addHandler(perform: body()), event.addHandler(on: .background, perform: body()),
      event.addHandler(on: .main, perform: body()),
    ]
    event.once(perform: body())
    #expect(live.alive == 4)
    await event.send(1)
    #expect(event.removeAll(where: .oneOf(tokens)) == 3)
    await event.quiesce()
    #expect(await eventually { live.alive == 0 })
  }

  @Test func lockOfAMethodOfOneOwnerLeavesThatOfAnother() {
    let event = Event<Int>()
    let (one, other) = (Meter(), Meter())
    let token = event.addHandler(owner: one) { $0.read($1) }
    event.addHandler(owner: other) { $0.read($1) }
    event.lock(token)
    event.post(1)
    #expect(one.readings.values == [])
    #expect(other.readings.values == [1])
  }

  @Test func moreThanNineteenBoundArgumentsAreDelivered() {
    let (event, many) = (Event<Int>(), Many())
    event.addHandler(owner: many) { $0.sum($1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20) }
    event.post(1_000)
    #expect(many.sums.values == [1_210])
  }

  // MARK: 9. A forwarding cycle overflows the stack (IKEvents)
  //
  // Changing forwards during a send raises an exception.

  @Test func forwardingCyclesEnd() async {
    let ring = (0..<100).map { _ in Event<Int>() }
    let calls = Counter()
    for (index, event) in ring.enumerated() {
      event.addHandler { _ in calls.add() }
      event.forward(to: ring[(index + 1) % ring.count])
      event.forward(to: event)
    }
    ring[0].post(1)
    #expect(await eventually { calls.value == 100 })  // beyond a depth, the events' own queues deliver
    await comesBack { await ring[50].send(2) }
    #expect(calls.value == 200)
  }

  @Test func forwardsMayBeChangedDuringASend() async {
    let (event, old, new) = (Event<Int>(), Event<Int>(), Event<Int>())
    let seen = Recorder<String>()
    old.addHandler { seen.record("old \($0)") }
    new.addHandler { seen.record("new \($0)") }
    event.addHandler { [weak event] _ in
      event?.removeAll(where: .forwarding(to: old))
      event?.removeAll(where: .forwarding(to: new))
      event?.forward(to: new)
    }
    event.forward(to: old)
    for number in 1...3 { event.post(number) }
    #expect(seen.values == [])  // each new forward is removed before an occurrence comes to it
    event.forward(to: old)
    old.addHandler { [weak event] _ in event?.removeAll(where: .forwarding(to: old)) }
    event.removeAll()
    event.forward(to: old)
    event.post(4)
    event.post(5)
    #expect(seen.values == ["old 4"])
  }

  // MARK: 10. Handlers of released owners pile up until the next send (IKEvents, emitter-kit)

  @Test func deadHandlersDoNotPileUpWithoutASend() async {
    let (event, keyed, live) = (Event<Int>(), KeyedEvent<ObjectKey, Int>(), LiveCount())
    var most = 0
    for _ in 0..<3_000 {
      let (owner, canary) = (Lookalike(), Canary(live))
      event.addHandler(owner: owner) { _, _ in canary.sing() }
      event.remove(event.addHandler { _ in canary.sing() })
      keyed[owner].addHandler { _ in canary.sing() }
      most = max(most, live.alive)
      withExtendedLifetime(owner) {}
    }
    #expect(most < 200)
    #expect(event.handlerCount == 0)
  }

  // MARK: 11. Use from two threads crashes (all three libraries)

  @Test func everyCallMayRaceWithEveryOther() async {
    let event = Event<Int>()
    await onThreads(4) { index in
      let calls = AnyCall.allCases.filter { $0 != .finish }
      for round in 0..<5 * calls.count { calls[(index * 5 + round * (index + 1)) % calls.count].make(on: event) }
    }
    await event.quiesce()
    event.removeAll()
    event.unlock()
    event.addHandler { _ in }
    #expect(await event.send(1).delivered == 1)
    #expect(event.handlerCount == 1)
  }

  @Test func threadsThatSendAddAndRemoveLoseNothing() async {
    let event = Event<Int>()
    let (stays, comesAndGoes) = (Counter(), Counter())
    event.addHandler { _ in stays.add() }
    await onThreads(4) { index in
      for number in 0..<1_000 {
        if index < 2 { event.post(number) } else { event.remove(event.addHandler { _ in comesAndGoes.add() }) }
      }
    }
    await event.quiesce()
    #expect(stays.value == 2_000)
    #expect(comesAndGoes.value <= 4_000)
    #expect(event.handlerCount == 1)
  }
}

private final class Many: Sendable {
  let sums = Recorder<Int>()

  // swift-format-ignore
  func sum(
    _ payload: Int, _ a: Int, _ b: Int, _ c: Int, _ d: Int, _ e: Int, _ f: Int, _ g: Int, _ h: Int, _ i: Int, _ j: Int, _ k: Int,
    _ l: Int, _ m: Int, _ n: Int, _ o: Int, _ p: Int, _ q: Int, _ r: Int, _ s: Int, _ t: Int
  ) {
    let (first, second) = ([payload, a, b, c, d, e, f, g, h, i, j], [k, l, m, n, o, p, q, r, s, t])
    sums.record((first + second).reduce(0, +))
  }
}
