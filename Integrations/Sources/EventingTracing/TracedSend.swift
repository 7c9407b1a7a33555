public import Eventing
public import EventingTransport
public import Tracing

extension Event {
  /// Sends a payload inside a span, and waits as ``Eventing/Event/send(_:from:)`` does.
  ///
  /// The span has the name of the event, and the counts of the report. It records the errors of
  /// handlers. The handlers see the span as their parent: see
  /// ``EventTracing/propagate(headers:by:)``. Any task may call this method, also inside a handler.
  ///
  /// - Parameters:
  ///   - payload: The value that the handlers receive.
  ///   - sender: The object that sends.
  ///   - tracer: The tracer; `nil` for the one that the program has bootstrapped.
  /// - Returns: The report.
  /// - Complexity: O(handlers).
  @discardableResult public nonisolated(nonsending) func tracedSend(
    _ payload: Payload, from sender: (any AnyObject & Sendable)? = nil, by tracer: (any Tracer)? = nil
  ) async -> SendReport {
    let span = EventTracing.start("send \(identity)", tracer, .producer)
    defer { span.end() }
    let report = await InstrumentationContext.$current.withValue(span.context) { await send(payload, from: sender) }
    span.attributes["eventing.sequence"] = Int64(clamping: report.sequence)
    span.attributes["eventing.delivered"] = report.delivered
    span.attributes["eventing.skipped"] = report.skipped
    span.attributes["eventing.dropped"] = report.dropped
    span.attributes["eventing.deferred"] = report.deferred
    span.attributes["eventing.held"] = report.held
    for failure in report.failures { span.fail(failure.error) }
    return report
  }
}

extension RemoteEvent {
  /// Publishes a payload inside a span. In all other respects, works like `publish`.
  ///
  /// The span has the subject of the event. Its context is written into the headers of the message:
  /// see ``EventTracing/propagate(headers:by:)``.
  ///
  /// - Parameters:
  ///   - payload: The payload.
  ///   - headers: The headers for the receivers.
  ///   - tracer: The tracer; `nil` for the one that the program has bootstrapped.
  /// - Returns: The receipt.
  /// - Throws: `TransportError`.
  @discardableResult public func tracedPublish(
    _ payload: Payload, headers: [String: String] = [:], by tracer: (any Tracer)? = nil
  ) async throws -> Receipt {
    try await tracedPublish(payload, id: nil, headers: headers, by: tracer)
  }

  /// Publishes a payload with an id inside a span: see ``tracedPublish(_:headers:by:)``.
  ///
  /// - Parameters:
  ///   - payload: The payload.
  ///   - id: The id of the message; `nil` for a new one.
  ///   - headers: The headers for the receivers.
  ///   - tracer: The tracer; `nil` for the one that the program has bootstrapped.
  /// - Returns: The receipt. Its `isDuplicate` says that the stream had the id before, so that this
  ///   payload was not stored.
  /// - Throws: `TransportError`.
  public func tracedPublish(
    _ payload: Payload, id: String?, headers: [String: String] = [:], by tracer: (any Tracer)? = nil
  ) async throws -> Receipt {
    let span = EventTracing.start("publish \(subject)", tracer, .producer)
    defer { span.end() }
    do {
      return try await InstrumentationContext.$current.withValue(span.context) {
        try await publish(payload, id: id, headers: headers)
      }
    } catch {
      span.fail(error)
      throw error
    }
  }
}
