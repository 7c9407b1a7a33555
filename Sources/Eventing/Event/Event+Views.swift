extension Event {
  /// A view through which handlers can be added but nothing can be sent.
  ///
  /// The view keeps the event alive.
  public nonisolated var source: some EventSource<Payload> { SourceView(event: self) }

  /// A source of the errors that this event's handlers throw, wherever they run.
  ///
  /// A failure is sent as soon as the handler has thrown. An inline handler of this source runs on
  /// the thread of the handler that threw, before the occurrence goes on. Failures from before the
  /// first access to this property are not repeated.
  ///
  /// Its handlers belong to the source, not to the event: remove one with
  /// `event.failures.remove(token)`. The source does not keep the event alive.
  public nonisolated var failures: some EventSource<HandlerFailure> { core.anchor.failures().event.source }

}

extension EventSource {
  /// A view whose handlers receive whole occurrences: the payload with its sender, event name,
  /// sequence number and instant.
  ///
  /// Behind another view, the payload is the one of that view. The view keeps its event alive.
  public nonisolated var occurrences: some EventSource<EventOccurrence<Payload>> { OccurrenceView(source: self) }
}

struct SourceView<Payload: Sendable>: EventSource {
  let event: Event<Payload>

  func add(contentsOf handlers: [Handler<Payload>]) -> [HandlerToken] { event.add(contentsOf: handlers) }
  func add(_ handler: Handler<Payload>) -> HandlerToken { event.add(handler) }
  func remove(_ token: HandlerToken) -> Bool { event.remove(token) }
}

struct OccurrenceView<Source: EventSource>: EventSource {
  let source: Source

  func add(contentsOf handlers: [Handler<EventOccurrence<Source.Payload>>]) -> [HandlerToken] {
    source.add(contentsOf: handlers.map(ofPayloads))
  }
  func add(_ handler: Handler<EventOccurrence<Source.Payload>>) -> HandlerToken { source.add(ofPayloads(handler)) }
  func remove(_ token: HandlerToken) -> Bool { source.remove(token) }

  private func ofPayloads(_ handler: Handler<EventOccurrence<Source.Payload>>) -> Handler<Source.Payload> {
    var handler = handler.converted { (payload: Source.Payload, delivery, name) in
      EventOccurrence(
        payload: payload, sender: delivery.sender, eventName: name, sequence: delivery.sequence,
        instant: (delivery.instant ?? .now).instant)
    }
    // The event reads the clock once for each occurrence, so that all handlers receive one instant,
    // however late they run.
    handler.options.isClocked = true
    return handler
  }
}
