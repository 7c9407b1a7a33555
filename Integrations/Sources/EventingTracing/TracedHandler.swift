public import Tracing

extension EventTracing {
  /// Returns a handler that runs inside a new span.
  ///
  ///     let audit = EventTracing.traced("audit") { order in write(order) }
  ///     orders.addHandler(on: .background, perform: audit)
  ///
  /// The span is a child of the sender's span: see ``propagate(headers:by:)``. Spans that the
  /// handler starts are children of this one. An error is recorded in the span and rethrown.
  ///
  /// - Parameters:
  ///   - name: The name of the span.
  ///   - tracer: The tracer; `nil` for the one that the program has bootstrapped.
  ///   - body: The handler.
  /// - Returns: A closure for `addHandler`.
  public static func traced<Payload>(
    _ name: String, by tracer: (any Tracer)? = nil, _ body: @escaping @Sendable (Payload) throws -> Void
  ) -> @Sendable (Payload) throws -> Void {
    { payload in
      let span = start(name, tracer, .consumer)
      defer { span.end() }
      do {
        try InstrumentationContext.$current.withValue(span.context) { try body(payload) }
      } catch {
        span.fail(error)
        throw error
      }
    }
  }

  /// Returns an asynchronous handler that runs inside a new span. In all other respects, works like
  /// ``traced(_:by:_:)-(_,_,(Payload)throws->Void)``.
  public static func traced<Payload>(
    _ name: String, by tracer: (any Tracer)? = nil, _ body: @escaping @Sendable (Payload) async throws -> Void
  ) -> @Sendable (Payload) async throws -> Void {
    { payload in
      let span = start(name, tracer, .consumer)
      defer { span.end() }
      do {
        try await InstrumentationContext.$current.withValue(span.context) { try await body(payload) }
      } catch {
        span.fail(error)
        throw error
      }
    }
  }

  /// Starts a span as a child of the current context.
  static func start(_ name: String, _ tracer: (any Tracer)?, _ kind: SpanKind) -> any Span {
    (tracer ?? InstrumentationSystem.tracer).startAnySpan(
      name, context: InstrumentationContext.current ?? .topLevel, ofKind: kind)
  }
}

extension Span {
  /// Records an error, and marks the span as failed.
  func fail(_ error: any Error) {
    recordError(error)
    setStatus(SpanStatus(code: .error))
  }
}
