import InMemoryTracing
import Synchronization
import Tracing

/// An instrument that writes and reads the spans of an `InMemoryTracer` as W3C headers:
/// `traceparent`, and `tracestate` with the id of the span.
struct W3CInstrument: Instrument {
  func inject<Carrier, Inject>(
    _ context: InstrumentationContext, into carrier: inout Carrier, using injector: Inject
  ) where Inject: Injector, Inject.Carrier == Carrier {
    guard let span = context.inMemorySpanContext else { return }
    injector.inject("00-\(span.traceID)-\(span.spanID)-01", forKey: "traceparent", into: &carrier)
    injector.inject("test=\(span.spanID)", forKey: "tracestate", into: &carrier)
  }

  func extract<Carrier, Extract>(
    _ carrier: Carrier, into context: inout InstrumentationContext, using extractor: Extract
  ) where Extract: Extractor, Extract.Carrier == Carrier {
    let parts = extractor.extract(key: "traceparent", from: carrier)?.split(separator: "-") ?? []
    guard parts.count == 4 else { return }
    context.inMemorySpanContext = InMemorySpanContext(
      traceID: String(parts[1]), spanID: String(parts[2]), parentSpanID: nil)
    context[TraceState.self] = extractor.extract(key: "tracestate", from: carrier)
  }
}

/// The text of the header `tracestate`, as the instrument read it.
enum TraceState: InstrumentationContextKey {
  typealias Value = String
}

extension InMemoryTracer {
  /// Returns a tracer whose ids have the lengths that the W3C format needs.
  static func w3c() -> InMemoryTracer {
    let count = Counter()
    return InMemoryTracer(
      idGenerator: IDGenerator(
        nextTraceID: { count.next(digits: 32) }, nextSpanID: { count.next(digits: 16) }))
  }

  /// Returns the finished span with this name.
  func span(_ name: String) -> FinishedInMemorySpan? { finishedSpans.first { $0.operationName == name } }
}

private final class Counter: Sendable {
  private let last = Atomic<Int>(0)
  func next(digits: Int) -> String {
    let text = String(last.add(1, ordering: .relaxed).newValue, radix: 16)
    return String(repeating: "0", count: digits - text.count) + text
  }
}
