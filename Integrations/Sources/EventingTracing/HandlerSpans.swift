public import Eventing
import Synchronization
public import Tracing

/// An observer that makes a span for each call of each handler. The handlers need no change.
///
///     HandlerSpans().observeNewEvents()        // or event.observe(with: HandlerSpans())
///
/// The span is a child of the sender's span: see ``EventTracing/carry(headers:by:)``. An observer
/// cannot bind a context around a call. So spans that the handler starts are siblings of this one.
/// For a handler that starts spans, use
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

  /// Starts the span of a call.
  public func began(_ handler: HandlerToken, sequence: UInt64, in event: EventIdentity) {
    let name = handler.name ?? handler.fileID.map { "\($0):\(handler.line ?? 0)" } ?? "handler"
    let span = EventTracing.start("\(event) \(name)", tracer, .consumer)
    span.attributes["eventing.event"] = event.description
    span.attributes["eventing.handler"] = name
    span.attributes["eventing.sequence"] = Int64(clamping: sequence)
    let call = Call(handler: handler.id, sequence: sequence)
    let before = running.withLock { $0.updateValue(span, forKey: call) }
    before?.end()
  }

  /// Ends the span of a call.
  public func ended(
    _ handler: HandlerToken, sequence: UInt64, duration: Duration, error: (any Error)?, in event: EventIdentity
  ) {
    let call = Call(handler: handler.id, sequence: sequence)
    guard let span = running.withLock({ $0.removeValue(forKey: call) }) else { return }
    if let error { span.fail(error) }
    span.end()
  }

  /// Ends the span of a call that a newer occurrence had cancelled. The span has not failed.
  public func dropped(
    _ handler: HandlerToken, sequence: UInt64, after duration: Duration, in event: EventIdentity
  ) {
    let span = running.withLock { $0.removeValue(forKey: Call(handler: handler.id, sequence: sequence)) }
    span?.attributes["eventing.dropped"] = true
    span?.end()
  }

  /// Ends the span of a call that is not observed any more.
  public func left(_ handler: HandlerToken, sequence: UInt64, in event: EventIdentity) {
    let span = running.withLock { $0.removeValue(forKey: Call(handler: handler.id, sequence: sequence)) }
    span?.attributes["eventing.left"] = true
    span?.end()
  }
}
