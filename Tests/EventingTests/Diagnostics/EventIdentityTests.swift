import Dispatch
import Eventing
import Testing

/// Tests of the identity that each step of an observer names.
@Suite(.fewAtATime) struct EventIdentityTests {
  /// An observer that records each step with the identity that it names.
  struct Named: EventObserver {
    let log = Recorder<(call: String, event: EventIdentity)>()
    func observe(_ step: EventStep) { log.record((step.kind.description, step.event)) }

    func calls(_ event: EventIdentity) -> [String] { log.values.filter { $0.event == event }.map(\.call) }
  }

  @Test func everyStepNamesItsEvent() async {
    let (event, other, named) = (Event<Int>("orders"), Event<String>("orders"), Named())
    for observed in [event, other] as [any HandlerRegistry] { observed.observe(with: named) }
    let token = event.addHandler { _ in }
    event.post(1)
    event.lock(token)
    event.post(2)
    event.lock(token, holding: .latest)
    event.post(3)
    event.remove(token)
    let payloads = event.payloads(buffering: .oldest(1))
    for number in 4...5 { event.post(number) }
    other.post("a")
    #expect(
      named.calls(event.identity).prefix(9) == [
        "added", "accepted", "began", "ended", "accepted", "skipped", "accepted", "held", "removed",
      ])
    #expect(named.calls(event.identity).contains("dropped"))
    #expect(named.calls(other.identity) == ["accepted"])
    #expect(named.log.values.allSatisfy { $0.event.name == "orders" })
    #expect(
      named.log.values.allSatisfy { $0.event.payloadType == ($0.event == event.identity ? Int.self : String.self) })
    withExtendedLifetime(payloads) {}
  }

  @Test func stepsOnLanesNameTheirEvent() async {
    let (event, named, gate, begun) = (Event<Int>(), Named(), Gate(), Gate())
    let token = event.add(
      BoundedLane.inOrder.handler(.oldest(1), until: gate) { (_: Int) in begun.open() })
    event.observe(with: named)
    event.post(1)
    await begun.opened()
    for number in 2...3 { event.post(number) }
    event.removeAll(where: .oneOf([token]))
    gate.open()
    await event.quiesce()
    let calls = named.calls(event.identity)
    for call in ["added", "began", "ended", "skipped", "dropped", "removed"] { #expect(calls.contains(call)) }
    #expect(calls.count == named.log.count)
  }

  @Test func anIdentityIsThatOfOneEvent() {
    let events = (0..<100).map { _ in Event<Int>("same") }
    #expect(Set(events.map(\.identity)).count == 100)
    #expect(Set(events.map(\.identity.number)).count == 100)
    for event in events { #expect(event.identity == event.identity && event.identity.number > 0) }
    #expect(events[0].identity.name == "same" && "\(events[0].identity)" == "same")
    let unnamed = Event<[String]>().identity
    #expect(unnamed.name == nil && "\(unnamed)" == "event \(unnamed.number) of Array<String>")
  }

  @Test func anEventHasOneNumberHoweverManyThreadsAsk() async {
    for _ in 0..<200 {
      let (event, numbers) = (Event<Int>(), Recorder<UInt64>())
      await onThreads(4) { _ in numbers.record(event.identity.number) }
      #expect(Set(numbers.values).count == 1)
    }
  }

  @Test func anIdentityStaysWhenObservationsEnd() {
    let (event, first, second) = (Event<Int>(), Named(), Named())
    event.observe(with: first).end()
    event.post(1)
    event.observe(with: second)
    event.post(2)
    #expect(first.log.values.isEmpty)
    #expect(second.calls(event.identity) == ["accepted"])
  }

  @Test func thePayloadTypeOfAKeyedEventIsThatOfItsUsers() {
    typealias Pair = (key: String, payload: Int)
    let (keyed, named) = (KeyedEvent<String, Int>("rooms"), Named())
    keyed.observe(with: named)
    keyed.post(1, to: "lobby")
    #expect(named.calls(keyed.identity) == ["accepted"])
    #expect(ObjectIdentifier(keyed.identity.payloadType) == ObjectIdentifier(Pair.self))
  }
}
