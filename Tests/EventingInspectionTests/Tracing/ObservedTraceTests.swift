import EventingTesting
import Testing

@testable import Eventing
@testable import EventingInspection

/// Tests of guarantee S7 for changes of observed values. A change is not enqueued by the code that
/// enqueues a post. The code that enqueues a change must record its cause, too.
@Suite struct ObservedTraceTests {
  /// Returns the handler that caused each occurrence of an event; `nil` for none.
  private func causes(of event: UInt64, in json: TraceJSON) -> [Int?] {
    let handlers = Dictionary(
      uniqueKeysWithValues: json.calls.map { ($0.number("call") ?? 0, $0.number("handler") ?? 0) })
    return json.occurrences.filter { $0.number("event") == Int(event) }.map { occurrence in
      occurrence.number("cause").flatMap { handlers[$0] }
    }
  }

  @Test(arguments: [false, true]) func aChangeInsideAHandlerHasItsCause(isUpdated: Bool) throws {
    let (x, v) = (Event<Int>("x"), Observed(0))
    let a = x.addHandler(.named("a")) { number in v.value = number }
    let b = v.newValues.addHandler(.named("b")) { new in
      guard new < 3 else { return }
      if isUpdated { v.update { $0 += 1 } } else { v.value = new + 1 }
    }
    let trace = EventTrace(of: x, v)
    x.post(1)
    trace.stop()
    let json = try TraceJSON(trace)
    #expect(json.faults.isEmpty)
    let id = v.handlerTable.inspected[0].id
    #expect(causes(of: id, in: json) == [Int(a.id), Int(b.id), Int(b.id)])
  }

  @Test func aChangeOfACombinationHasItsCause() throws {
    EventRegistry.start()
    defer { EventRegistry.stop() }
    let (x, first, second) = (Event<Int>("x"), Observed(0), Observed(0))
    let known = Set(EventRegistry.events.map(\.id))
    let pairs = first.combineLatest(second)
    let b = pairs.addHandler(.named("b")) { pair in if pair.0 > 0, pair.0 < 3 { first.value = pair.0 + 1 } }
    let combination = try #require(
      EventRegistry.events.first { event in
        !known.contains(event.id) && event.type == (Int, Int).self
          && event.anchor.core?.livingRecords(where: { $0.record.id == b.id }).isEmpty == false
      })
    let a = x.addHandler(.named("a")) { number in first.value = number }
    // The observed values themselves are not traced.
    let trace = EventTrace(of: x)
    let sink = EventTrace(of: [combination], lastMegabytes: 1)
    x.post(1)
    trace.stop()
    sink.stop()
    let calls = try TraceJSON(trace).calls + TraceJSON(sink).calls
    let handlers = Dictionary(calls.map { ($0.number("call") ?? 0, $0.number("handler") ?? 0) }) { first, _ in first }
    let spans = TraceSpans(sink.ring.contents(), until: InspectionClock.now)
    let causes = spans.occurrences.map { handlers[Int($0.cause)] }
    #expect(causes == [Int(a.id), Int(b.id), Int(b.id)])
    _ = (second, pairs)
  }
}
