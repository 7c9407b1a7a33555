import Eventing
import EventingInspection
import EventingTesting
import Foundation
import Testing

/// Tests of guarantees S3, S5 and S7: a trace has exactly what happened, and tracing changes
/// nothing else.
@Suite struct TraceTests {
  @Test func occurrencesCallsAndRowsAreThere() async throws {
    let event = Event<Int>("orders")
    let inline = event.addHandler(.named("inline")) { _ in }
    let background = event.addHandler(.named("background"), on: .background) { _ in }
    let trace = EventTrace(of: event)
    for number in 1...3 { await event.send(number) }
    trace.stop()
    await event.send(4)
    let json = try TraceJSON(trace)
    #expect(json.faults.isEmpty)
    #expect(json.occurrences.compactMap { $0.number("sequence") } == [1, 2, 3])
    #expect(json.occurrences.allSatisfy { $0.name == "orders" && $0.args["payload"] == nil })
    for token in [inline, background] {
      let calls = json.calls.filter { $0.number("handler") == Int(token.id) }
      #expect(calls.compactMap { $0.number("sequence") } == [1, 2, 3])
      #expect(calls.allSatisfy { $0.args["outcome"] as? String == "returned" })
    }
    #expect(trace.count == 9)
    #expect(json.events.first?["name"] as? String == "orders")
    #expect(json.events.first?["type"] as? String == "Int")
    let rows = json.records.filter { $0.phase == "M" }.compactMap { $0.args["name"] as? String }
    #expect(rows.contains { $0.hasPrefix("lane ") && $0.hasSuffix("background") })
    #expect(rows.contains { $0.hasPrefix("thread ") })
    #expect(json.records("delivery").isEmpty && json.records.filter { $0.category == "delivery" }.count == 12)
  }

  @Test func causesAreCallsOfTracedEvents() async throws {
    let (asked, answered, unknown) = (Event<Int>("asked"), Event<Int>("answered"), Event<Int>("unknown"))
    let inline = asked.addHandler { number in answered.post(number) }
    let background = asked.addHandler(on: .background) { number in answered.post(number + 10) }
    let task = asked.addHandler(on: .task) { number async in await answered.send(number + 20) }
    unknown.addHandler { number in answered.post(number) }
    let trace = EventTrace(of: asked, answered)
    await asked.send(1)
    await answered.quiesce()
    await unknown.send(7)
    await answered.quiesce()  // another thread may still be inside, and deliver the answer
    let json = try TraceJSON(trace)
    #expect(json.faults.isEmpty)
    let handlers = Dictionary(
      uniqueKeysWithValues: json.calls.map { (($0.number("call") ?? 0), ($0.number("handler") ?? 0)) })
    let answers = json.occurrences.filter { $0.name == "answered" }
    let causes = answers.map { answer in answer.number("cause").flatMap { handlers[$0] } }
    #expect(Set(causes.dropLast()) == Set([inline, background, task].map { Int($0.id) }))
    #expect(causes.count == 4 && causes.last == .some(nil))
    #expect(json.records.filter { $0.category == "cause" }.count == 6)
  }

  @Test func aForwardIsTheCauseOfWhatItBrings() async throws {
    let (asked, passed) = (Event<Int>("asked"), Event<Int>("passed"))
    asked.filter { $0 > 1 }.forward(to: passed)
    let trace = EventTrace(of: asked, passed)
    for number in 1...2 { asked.post(number) }
    let json = try TraceJSON(trace)
    #expect(json.faults.isEmpty)
    let call = try #require(json.calls.first)
    #expect(json.calls.count == 1 && call.number("sequence") == 2)
    let brought = json.occurrences.filter { $0.name == "passed" }
    #expect(brought.count == 1 && brought[0].number("cause") == call.number("call"))
    #expect(trace.count == json.occurrences.count + json.calls.count + json.records("skipped").count)
  }

  @Test func failuresDropsSkipsAndHoldsAreThere() async throws {
    struct Refused: Error {}
    let event = Event<Int>("orders")
    let failing = event.addHandler { _ throws in throw Refused() }
    let locked = event.addHandler { _ in }
    let holding = event.addHandler { _ in }
    event.lock(locked)
    event.lock(holding, holding: .latest)
    let trace = EventTrace(of: event)
    await event.send(1)
    let json = try TraceJSON(trace)
    #expect(json.faults.isEmpty)
    #expect(json.calls.map { $0.args["outcome"] as? String } == ["threw"])
    #expect(json.calls.map { $0.number("handler") } == [Int(failing.id)])
    #expect(json.records("skipped").map { $0.number("handler") } == [Int(locked.id)])
    #expect(json.records("held").map { $0.number("handler") } == [Int(holding.id)])
  }

  @Test func anEventThatIsNamedTwiceIsTracedOnce() throws {
    let asked = Event<Int>("asked")
    var target: Event<Int>? = Event("target")
    if let target { asked.forward(to: target) }
    asked.addHandler { _ in }
    let trace = EventTrace(of: asked, asked)
    asked.post(1)
    target = nil  // the forward has no target any more, so its begun call is withdrawn
    asked.post(2)
    let json = try TraceJSON(trace)
    #expect(json.faults.isEmpty)
    #expect(json.occurrences.count == 2)
    #expect(json.calls.allSatisfy { $0.args["outcome"] as? String == "returned" })
  }

  @Test func callsThatRunReachTheEndOfTheTrace() async throws {
    let event = Event<Int>()
    let (entered, goOn) = (Event<Void>(), Event<Void>())
    let waiting = EventRecorder(entered)
    event.addHandler(on: .task) { _ async in
      entered.post()
      _ = try? await goOn.next()
    }
    let trace = EventTrace(of: event)
    event.post(1)
    try await waiting.expect(1)
    let json = try TraceJSON(trace)
    #expect(json.faults.isEmpty)
    #expect(json.calls.map { $0.args["outcome"] as? String } == ["running"])
    while event.handlerCount > 0, goOn.handlerCount == 0 { await Task.yield() }
    goOn.post()
    await event.quiesce()
    #expect(try TraceJSON(trace).calls.map { $0.args["outcome"] as? String } == ["returned"])
  }

  @Test func aTraceIsNoHandler() async throws {
    let event = Event<Int>()
    let unheard = EventRecorder(event.unhandled)
    let trace = EventTrace(of: event)
    let report = await event.send(1)
    #expect(report.delivered == 0 && report.skipped == 0)
    #expect(event.handlerCount == 0)
    try await unheard.expect(1)
    #expect(trace.count == 1)
  }

  struct TracedNumber: Sendable { let number: Int }
  struct Secret: Sendable { let text = "swordfish" }

  @Test func payloadsStayInsideWithoutADescriber() async throws {
    let (numbers, secrets) = (Event<TracedNumber>(), Event<Secret>())
    Inspection.describe(TracedNumber.self) { "\($0.number) \"" + String(repeating: "é", count: $0.number) }
    let trace = EventTrace(of: numbers, secrets)
    numbers.post(TracedNumber(number: 2))
    numbers.post(TracedNumber(number: 1_000))
    secrets.post(Secret())
    let json = try TraceJSON(trace)
    let payloads = json.occurrences.map { $0.args["payload"] as? String }
    #expect(payloads[0] == "2 \"éé")
    #expect(payloads[1]?.utf8.count ?? 0 <= 256 && payloads[1]?.hasSuffix("é…") == true)
    #expect(payloads[2] == nil)
    #expect(!String(decoding: trace.json(), as: UTF8.self).contains("swordfish"))
  }

  @Test func theRingKeepsTheNewestAndCountsTheRest() async throws {
    let (asked, answered) = (Event<Int>("asked"), Event<Int>("answered"))
    asked.addHandler { number in answered.post(number) }
    answered.addHandler(on: .background) { _ in }
    let trace = EventTrace(of: asked, answered, lastMegabytes: 1)
    let total = 6_000
    for number in 1...total { asked.post(number) }
    await answered.quiesce()
    let json = try TraceJSON(trace)
    #expect(json.faults.isEmpty)
    #expect(json.overwritten > 0)
    #expect(json.overwritten == trace.overwrittenCount)
    #expect(trace.count + trace.overwrittenCount == total * 4)
    #expect(json.occurrences.count + json.calls.count == trace.count)
    let last = json.occurrences.filter { $0.name == "asked" }.compactMap { $0.number("sequence") }
    #expect(last == Array((total + 1 - last.count)...total))
  }

  @Test func aDroppedTraceEnds() {
    let event = Event<Int>()
    event.addHandler { _ in }
    do {
      let trace = EventTrace(of: event)
      event.post(1)
      #expect(trace.count == 2)
    }
    weak var gone: EventTrace?
    do {
      let trace = EventTrace(of: event)
      gone = trace
      withExtendedLifetime(trace) {}
    }
    #expect(gone == nil)
    event.post(2)
  }

  @Test func aTraceIsWrittenToAFile() throws {
    let event = Event<Int>()
    let trace = EventTrace(of: event)
    event.post(1)
    let file = TemporaryFile("json")
    try trace.write(to: file.path)
    #expect(try file.text == String(decoding: trace.json(), as: UTF8.self))
    #expect(throws: (any Error).self) { try trace.write(to: "/nonexistent/folder/trace.json") }
    // The file may hold texts of payloads.
    let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
    #expect(attributes[.posixPermissions] as? Int == 0o600)
  }

  @Test func aTraceThatHasEndedMeasuresNothing() async throws {
    let event = Event<Int>()
    let (begun, goOn) = (Signal(), Signal())
    let (recorder, waiting) = (EventRecorder(begun), goOn.payloads())
    event.addHandler { (_: Int) async in
      begun.post()
      for await _ in waiting { return }
    }
    let trace = EventTrace(of: event)
    event.post(1)
    try await recorder.expect(1)
    trace.stop()
    #expect(trace.json() == trace.json())  // as long as it ran, whenever it is read
    goOn.post()
    await event.quiesce()
    trace.stop()
    let json = try TraceJSON(trace)
    #expect(json.calls.compactMap { $0.args["outcome"] as? String } == ["running"])
  }
}
