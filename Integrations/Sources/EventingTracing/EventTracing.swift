public import Eventing
public import EventingTransport
public import Tracing

/// Makes spans of sends and handlers, and passes the trace context of the sender to handlers, on
/// lanes and in other processes.
///
///     EventTracing.propagate()                // once, when the program starts
///     orders.addHandler(
///       perform: EventTracing.traced("billing") { order in try await bill(order) })
///     await orders.tracedSend(order)      // a span, with one for billing inside
///
/// Payloads are never written into a span.
public enum EventTracing {
  /// The propagation of a context, which lasts until it is ended. Dropping this value changes
  /// nothing.
  public struct Propagation: Sendable {
    fileprivate let parts: [EventRegistration]

    /// Ends the propagation. Further calls have no effect. Any thread may call this method.
    public func end() { for part in parts { part.end() } }
  }

  /// Propagates the trace context of a sender to its handlers, wherever they run.
  ///
  /// In this process, a handler on a lane sees the sender's `InstrumentationContext.current`. When
  /// a message is published, the instrument writes the context into headers. In other processes,
  /// handlers see the context that the instrument reads from these headers.
  ///
  /// - Parameters:
  ///   - headers: The headers that the instrument writes and reads. The header with the trace must
  ///     be the first. A message without that header carries no context. Each header costs one
  ///     binding of a task-local value for each message. If empty, the context stays in this
  ///     process.
  ///   - instrument: The instrument; `nil` for the one that the program has bootstrapped.
  /// - Returns: A value whose ``Propagation/end()`` stops this. Call `propagate` only once.
  @discardableResult public static func propagate(
    headers: [String] = ["traceparent"], by instrument: (any Instrument)? = nil
  ) -> Propagation {
    guard !headers.isEmpty else {
      return Propagation(parts: [EventContext.propagate(InstrumentationContext.$current)])
    }
    let parts = headers.enumerated().map { index, header in
      RemoteContext.propagate(InstrumentationContext.$current, header: header) { context in
        context.map { self.headers(of: $0, by: instrument) }?[header]
      } decode: { text in
        .some(context(adding: text, of: header, isFirst: index == 0, by: instrument))
      }
    }
    return Propagation(parts: parts)
  }

  /// Returns the headers of the current context, for a message that is published later.
  ///
  ///     try outbox.append(order, headers: EventTracing.headers(), in: db)
  ///
  /// Any thread may call this method.
  ///
  /// - Parameter instrument: The instrument; `nil` for the one that the program has bootstrapped.
  /// - Returns: The headers; empty if there is no context.
  public static func headers(by instrument: (any Instrument)? = nil) -> [String: String] {
    InstrumentationContext.current.map { headers(of: $0, by: instrument) } ?? [:]
  }

  private static func headers(
    of context: InstrumentationContext, by instrument: (any Instrument)?
  ) -> [String: String] {
    var headers: [String: String] = [:]
    (instrument ?? InstrumentationSystem.instrument).inject(context, into: &headers, using: HeaderAccess())
    return headers
  }

  /// Returns the context of the headers that were read so far.
  ///
  /// Headers are read one after the other, each inside the context of the earlier ones. An
  /// instrument needs all headers together, so a context stores the ones that were read.
  private static func context(
    adding text: String, of header: String, isFirst: Bool, by instrument: (any Instrument)?
  ) -> InstrumentationContext {
    var headers = isFirst ? [:] : InstrumentationContext.current?[ReadHeaders.self] ?? [:]
    headers[header] = text
    var context = InstrumentationContext.topLevel
    (instrument ?? InstrumentationSystem.instrument).extract(headers, into: &context, using: HeaderAccess())
    context[ReadHeaders.self] = headers
    return context
  }
}

/// The headers from which a context was read.
private enum ReadHeaders: InstrumentationContextKey {
  typealias Value = [String: String]
}

/// Reads and writes the headers of messages.
private struct HeaderAccess: Injector, Extractor {
  func inject(_ value: String, forKey key: String, into carrier: inout [String: String]) { carrier[key] = value }
  func extract(key: String, from carrier: [String: String]) -> String? { carrier[key] }
}
