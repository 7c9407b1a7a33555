public import Eventing
import Synchronization
public import Tracing

/// An observer that makes a span for each call of each handler. The handlers need no change.
///
///     HandlerSpans().observeNewEvents()        // or event.observe(with: HandlerSpans())
///
/// The span is a child of the sender's span: see ``EventTracing/propagate(headers:by:)``. An
/// observer cannot bind a context around a call. So spans that the handler starts are siblings of
/// this one. For a handler that starts spans, use
/// ``EventTracing/traced(_:by:_:)-(_,_,(Payload)throws->Void)``.
public final class HandlerSpans: EventObserver {
  private struct Call: Hashable {
    let handler: UInt64
    let sequence: UInt64
  }

  private let tracer: (any Tracer)?
  private let running = Mutex<[Call: any Span]>([:])

  /// Creates an observer.
  ///
  /// - Parameter tracer: The tracer; `nil` for the one that the program has bootstrapped.
  public init(by tracer: (any Tracer)? = nil) { self.tracer = tracer }

  /// Starts or ends the span of a call.
  public func observe(_ step: EventStep) {
    guard let handler = step.handler, let sequence = step.sequence else { return }
    let call = Call(handler: handler.id, sequence: sequence)
    switch step.kind {
    case .began: start(call, of: handler, step.event)
    case .ended: end(call) { span in if let error = step.error { span.fail(error) } }
    case .dropped where step.duration != nil: end(call) { $0.attributes["eventing.dropped"] = true }
    case .left: end(call) { $0.attributes["eventing.left"] = true }
    default: break
    }
  }

  private func start(_ call: Call, of handler: HandlerToken, _ event: EventIdentity) {
    let name = handler.name ?? handler.fileID.map { "\($0):\(handler.line ?? 0)" } ?? "handler"
    let span = EventTracing.start("\(event) \(name)", tracer, .consumer)
    span.attributes["eventing.event"] = event.description
    span.attributes["eventing.handler"] = name
    span.attributes["eventing.sequence"] = Int64(clamping: call.sequence)
    let before = running.withLock { $0.updateValue(span, forKey: call) }
    before?.end()
  }

  private func end(_ call: Call, _ finish: (any Span) -> Void) {
    guard let span = running.withLock({ $0.removeValue(forKey: call) }) else { return }
    finish(span)
    span.end()
  }
}
