import Eventing
import Testing

/// Tests of features 11 to 20 of AFFEvent, IKEvents and emitter-kit: payloads.
@Suite(.fewAtATime) struct PayloadRows {
  @Test("11: a signal carries nothing")
  func aSignalCarriesNothing() async {
    let cancelled = Signal()
    let calls = Counter()
    cancelled.addHandler { calls.add() }
    cancelled.post()
    #expect(await cancelled.send().delivered == 1)
    #expect(calls.value == 2)
  }

  @Test("12: one value is typed")
  func oneValueIsTyped() {
    let progress = Event<Double>()
    let halves = Recorder<Double>()
    progress.addHandler { fraction in halves.record(fraction / 2) }
    progress.post(0.5)
    #expect(halves.values == [0.25])
  }

  @Test("13: several values are taken apart by the closure")
  func severalValuesAreTakenApartByTheClosure() async {
    let resized = Event<(width: Int, height: Int)>()
    let areas = Recorder<Int>()
    resized.addHandler { width, height in areas.record(width * height) }
    resized.addHandler { size in areas.record(size.width * size.height) }
    resized.post((width: 3, height: 4))
    #expect(areas.values == [12, 12])
  }

  @Test("13: there may be more than five values")
  func thereMayBeMoreThanFiveValues() async {
    let event = Event<(Int, String, Double, Bool, Character, Int, [Int])>()
    let seen = Recorder<String>()
    event.addHandler { a, b, c, d, e, f, g in seen.record("\(a) \(b) \(c) \(d) \(e) \(f) \(g)") }
    event.post((1, "two", 3.0, true, "5", 6, [7]))
    #expect(await event.send((1, "two", 3.0, true, "5", 6, [7])).delivered == 1)
    #expect(await event.submit((1, "two", 3.0, true, "5", 6, [7])).report.delivered == 1)
    #expect(seen.values == Array(repeating: "1 two 3.0 true 5 6 [7]", count: 3))
  }

  @Test("14: the compiler knows the payload of every part")
  func theCompilerKnowsThePayloadOfEveryPart() {
    // If the payload had another type, each of these lines would fail to compile.
    let event = Event<Order>()
    let (source, handler): (any EventSource<Order>, Handler<Order>) = (event.source, Handler { _ in })
    let ids = Recorder<Int>()
    event.addHandler { order in ids.record(order.id) }
    source.add(handler)
    event.post(Order(id: 7))
    #expect(ids.values == [7])
  }

  @Test("15: a payload may be nil")
  func aPayloadMayBeNil() {
    let selected = Event<Int?>()
    let seen = Recorder<Int?>()
    selected.addHandler { number in seen.record(number) }
    selected.post(nil)
    selected.post(1)
    #expect(seen.values == [nil, 1])
  }

  @Test("16: a payload may be any value")
  func aPayloadMayBeAnyValue() {
    let (orders, actions, lists) = (Event<Order>(), Event<@Sendable () -> Int>(), Event<[String: Set<Int>]>())
    let seen = Recorder<Int>()
    orders.addHandler { order in seen.record(order.id) }
    actions.addHandler { action in seen.record(action()) }
    lists.addHandler { list in seen.record(list["a"]?.count ?? 0) }
    orders.post(Order(id: 1))
    actions.post { 2 }
    lists.post(["a": [1, 2, 3]])
    #expect(seen.values == [1, 2, 3])
  }

  @Test("17: a handler may ignore the payload")
  func aHandlerMayIgnoreThePayload() async {
    let (event, signal) = (Event<Int>(), Signal())
    let calls = Counter()
    event.addHandler { _ in calls.add() }
    event.signal.addHandler { calls.add() }
    signal.addHandler { calls.add() }
    event.post(1)
    signal.post()
    #expect(calls.value == 3)
  }

  /// A deliberate difference from AFFEvent, IKEvents and emitter-kit: no value is dropped silently.
  /// A handler that needs fewer values says which ones.
  @Test("18: a handler takes all values or says which")
  func aHandlerTakesAllValuesOrSaysWhich() {
    let event = Event<(Int, Int, Int)>()
    let seen = Recorder<Int>()
    event.addHandler { first, _, _ in seen.record(first) }
    event.addHandler { values in seen.record(values.1) }
    event.map { $0.2 }.addHandler { third in seen.record(third) }
    event.post((1, 2, 3))
    #expect(seen.values == [1, 2, 3])
  }

  @Test("19: an occurrence is the payload with its context")
  func anOccurrenceIsThePayloadWithItsContext() {
    let event = Event<Int>("progress")
    let (seen, sender) = (Recorder<EventOccurrence<Int>>(), Meter())
    event.occurrences.addHandler { occurrence in seen.record(occurrence) }
    let before = ContinuousClock.now
    for number in 1...2 { event.post(10 * number, from: sender) }
    let after = ContinuousClock.now
    #expect(seen.values.map(\.payload) == [10, 20])
    #expect(seen.values.map(\.sequence) == [1, 2])
    #expect(seen.values.allSatisfy { $0.eventName == "progress" && $0.sender === sender })
    #expect(seen.values.allSatisfy { before <= $0.instant && $0.instant <= after })
  }

  @Test("20: a payload may be a protocol")
  func aPayloadMayBeAProtocol() {
    let drawn = Event<any Shape>()
    let corners = Recorder<Int>()
    drawn.addHandler { shape in corners.record(shape.corners) }
    drawn.post(Square())
    drawn.post(Disc())
    #expect(corners.values == [4, 0])
  }
}

private struct Order: Sendable { let id: Int }

private protocol Shape: Sendable { var corners: Int { get } }
private struct Square: Shape { let corners = 4 }
private struct Disc: Shape { let corners = 0 }
