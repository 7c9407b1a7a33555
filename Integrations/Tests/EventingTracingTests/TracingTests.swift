import Eventing
import EventingTesting
import EventingTracing
import EventingTransport
import InMemoryTracing
import Testing
import Tracing

// `EventTracing.propagate` affects the whole process, so the tests run one after the other.
@Suite(.serialized, .timeLimit(.minutes(2))) struct TracingTests {
  private struct Failure: Error {}
  private let tracer = InMemoryTracer.w3c()

  @Test func handlersOnEveryLaneAreChildrenOfTheSend() async throws {
    let carrying = EventTracing.propagate(headers: [])
    defer { carrying.end() }
    let orders = Event<Int>("orders")
    orders.addHandler(perform: EventTracing.traced("inline", by: tracer) { _ in })
    orders.addHandler(on: .background, perform: EventTracing.traced("queue", by: tracer) { _ in })
    orders.addHandler(perform: EventTracing.traced("task", by: tracer) { _ async in await Task.yield() })
    let report = await orders.tracedSend(1, by: tracer)
    #expect(report.delivered == 3)
    let send = try #require(tracer.span("send orders"))
    #expect(send.kind == .producer)
    #expect(send.attributes["eventing.delivered"]?.toSpanAttribute() == 3)
    for name in ["inline", "queue", "task"] {
      let span = try #require(tracer.span(name))
      #expect(span.parentSpanID == send.spanID, "\(name)")
      #expect(span.traceID == send.traceID)
    }
    #expect(tracer.activeSpans.isEmpty)
  }

  @Test func aSpanThatAHandlerStartsIsAChildOfTheHandler() async throws {
    let carrying = EventTracing.propagate(headers: [])
    defer { carrying.end() }
    let orders = Event<Int>("orders")
    orders.addHandler(
      perform: EventTracing.traced("billing", by: tracer) { [tracer] _ async in
        await Task.yield()
        tracer.startSpan("card").end()
      })
    await orders.tracedSend(1, by: tracer)
    #expect(tracer.span("card")?.parentSpanID == tracer.span("billing")?.spanID)
    #expect(tracer.span("card") != nil)
  }

  @Test func errorsAreRecordedInTheSpansOfHandlerAndSend() async throws {
    let carrying = EventTracing.propagate(headers: [])
    defer { carrying.end() }
    let orders = Event<Int>("orders")
    orders.addHandler(perform: EventTracing.traced("inline", by: tracer) { (_: Int) throws in throw Failure() })
    orders.addHandler(perform: EventTracing.traced("task", by: tracer) { (_: Int) async throws in throw Failure() })
    let report = await orders.tracedSend(1, by: tracer)
    #expect(report.failures.count == 2)
    #expect(tracer.span("inline")?.errors.count == 1)
    #expect(tracer.span("task")?.errors.count == 1)
    #expect(tracer.span("send orders")?.errors.count == 2)
    #expect(tracer.span("task")?.status?.code == .error)
  }

  @Test func theObserverMakesASpanOfEachCall() async throws {
    let carrying = EventTracing.propagate(headers: [])
    defer { carrying.end() }
    let orders = Event<Int>("orders")
    orders.addHandler(.named("billing")) { _ async in await Task.yield() }
    orders.addHandler(.named("audit")) { (_: Int) throws in throw Failure() }
    let observation = orders.observe(with: HandlerSpans(by: tracer))
    await orders.tracedSend(1, by: tracer)
    await orders.tracedSend(2, by: tracer)
    observation.end()
    await orders.send(3)
    let sends = tracer.finishedSpans.filter { $0.operationName == "send orders" }
    #expect(sends.count == 2)
    for name in ["orders billing", "orders audit"] {
      let spans = tracer.finishedSpans.filter { $0.operationName == name }
      #expect(Set(spans.map(\.parentSpanID)) == Set(sends.map(\.spanID)), "\(name)")
      #expect(spans.count == 2)
    }
    #expect(tracer.finishedSpans.filter { $0.operationName == "orders audit" }.allSatisfy { $0.errors.count == 1 })
    #expect(tracer.activeSpans.isEmpty)
  }

  @Test func theContextTravelsInTheHeadersOfAMessage() async throws {
    let carrying = EventTracing.propagate(headers: ["traceparent", "tracestate"], by: W3CInstrument())
    defer { carrying.end() }
    let placed = RemoteEvent<Int>("orders.placed", over: InMemoryTransport())
    let headers = EventRecorder(placed.remoteOccurrences.map(\.headers))
    let states = Event<String?>()
    let found = EventRecorder(states)
    placed.addHandler(perform: EventTracing.traced("inline", by: tracer) { _ in })
    placed.addHandler(
      perform: EventTracing.traced("billing", by: tracer) { _ async in
        states.post(InstrumentationContext.current?[TraceState.self])
      })
    try await placed.listen(as: "billing")
    try await placed.tracedPublish(1, by: tracer)
    try await headers.expect(1, within: .seconds(60))
    try await found.expect(1, within: .seconds(60))
    await placed.quiesce()
    let publish = try #require(tracer.span("publish orders.placed"))
    let message = try #require(headers.payloads.first)
    #expect(message["traceparent"] == "00-\(publish.traceID)-\(publish.spanID)-01")
    #expect(found.payloads == ["test=\(publish.spanID)"])
    for name in ["inline", "billing"] {
      #expect(tracer.span(name)?.parentSpanID == publish.spanID, "\(name)")
      #expect(tracer.span(name)?.traceID == publish.traceID)
    }
  }

  @Test func aHeaderOfAnotherProgramIsTheParent() async throws {
    let carrying = EventTracing.propagate(by: W3CInstrument())
    defer { carrying.end() }
    let bus = InMemoryTransport()
    let placed = RemoteEvent<Int>("orders.placed", over: bus)
    placed.addHandler(perform: EventTracing.traced("billing", by: tracer) { _ async in })
    try await placed.listen(as: "billing")
    let (trace, span) = (String(repeating: "a", count: 32), String(repeating: "b", count: 16))
    let message = RemoteMessage(headers: ["traceparent": "00-\(trace)-\(span)-01"], body: Array("1".utf8))
    _ = try await bus.publish(message, to: "orders.placed")
    let nonsense = RemoteMessage(headers: ["traceparent": "nonsense"], body: Array("2".utf8))
    _ = try await bus.publish(nonsense, to: "orders.placed")
    let deadline = ContinuousClock.now.advanced(by: .seconds(60))
    try await tracer.withSpan("other") { _ in
      _ = try await bus.publish(RemoteMessage(body: Array("3".utf8)), to: "orders.placed")
    }
    func billed() -> [FinishedInMemorySpan] { tracer.finishedSpans.filter { $0.operationName == "billing" } }
    while billed().count < 3, ContinuousClock.now < deadline { try await Task.sleep(for: .milliseconds(1)) }
    #expect(billed().map(\.parentSpanID) == [span, nil, nil])
    #expect(billed().first?.traceID == trace)
  }

  @Test func theHeadersOfTheCurrentContextCanBeStored() async {
    #expect(EventTracing.headers(by: W3CInstrument()).isEmpty)
    let headers = tracer.withSpan("order") { _ in EventTracing.headers(by: W3CInstrument()) }
    #expect(headers.keys.sorted() == ["traceparent", "tracestate"])
  }

  @Test func nothingIsCarriedAfterTheEnd() async throws {
    EventTracing.propagate(by: W3CInstrument()).end()
    let orders = Event<Int>("orders")
    orders.addHandler(perform: EventTracing.traced("task", by: tracer) { _ async in })
    await orders.tracedSend(1, by: tracer)
    let span = try #require(tracer.span("task"))
    #expect(span.parentSpanID == nil)
  }
}
