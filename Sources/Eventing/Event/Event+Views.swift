extension Event: EventSource {
  /// Adds handlers as a group: every one of them sees an occurrence, or none.
  @discardableResult public nonisolated func add(_ handlers: [Handler<Payload>]) -> [HandlerToken] {
    let identity = core.identity
    let newHandlers = ContiguousArray(handlers.map { core.newHandler($0.any, identity) })
    core.add(newHandlers)
    return newHandlers.map { HandlerToken($0.record, identity) }
  }

  /// Adds a handler: what every adding verb comes down to.
  @discardableResult public nonisolated func attach(_ handler: Handler<Payload>) -> HandlerToken {
    let identity = core.identity
    let newHandler = core.newHandler(handler.any, identity)
    core.add(newHandler)
    return HandlerToken(newHandler.record, identity)
  }

  /// Adds an inline handler that has nothing else.
  @inlinable @discardableResult public nonisolated func attachInline(
    once: Bool, _ body: @escaping @Sendable (Payload) throws -> Void
  ) -> HandlerToken {
    core.attachInline(once: once, HandlerClosure<Payload>(body).erased)
  }

  /// The event without its sending half, to be handed to those who only listen. It keeps the event alive.
  public nonisolated var source: some EventSource<Payload> { SourceView(event: self) }

  /// What its handlers throw, wherever they run, as they throw it.
  ///
  /// Its handlers are its own: `event.failures.remove(token)` removes one. A handler of this runs on behalf of the one that threw: an inline one on its thread, before the
  /// occurrence goes on.
  public nonisolated var failures: some EventSource<HandlerFailure> { core.identity.failures().event.source }

  /// The same event, with sender, event name, sequence number and instant around each payload. It keeps the event alive.
  public nonisolated var occurrences: some EventSource<Occurrence<Payload>> { OccurrenceView(event: self) }
}

/// An event without its sending half.
struct SourceView<Payload: Sendable>: EventSource {
  let event: Event<Payload>

  func add(_ handlers: [Handler<Payload>]) -> [HandlerToken] { event.add(handlers) }
  func attach(_ handler: Handler<Payload>) -> HandlerToken { event.attach(handler) }
  func remove(_ token: HandlerToken) -> Bool { event.remove(token) }
}

/// An event whose handlers get whole occurrences.
struct OccurrenceView<Inner: Sendable>: EventSource {
  let event: Event<Inner>

  func add(_ handlers: [Handler<Occurrence<Inner>>]) -> [HandlerToken] { event.add(handlers.map(ofPayloads)) }
  func attach(_ handler: Handler<Occurrence<Inner>>) -> HandlerToken { event.attach(ofPayloads(handler)) }
  func remove(_ token: HandlerToken) -> Bool { event.remove(token) }

  /// The handler of payloads that a handler of occurrences is.
  private func ofPayloads(_ handler: Handler<Occurrence<Inner>>) -> Handler<Inner> {
    var handler = handler.converted { [name = event.name] payload, tally in
      Occurrence(
        payload: payload, sender: tally.sender, eventName: name, sequence: tally.sequence,
        instant: (tally.instant ?? .now).instant)
    }
    handler.options.isClocked = true
    return handler
  }
}
