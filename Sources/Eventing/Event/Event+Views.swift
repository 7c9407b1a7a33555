extension Event: EventSource {
  /// Adds handlers as a group: every one of them sees an occurrence, or none.
  @discardableResult public nonisolated func add(_ handlers: [Handler<Payload>]) -> [HandlerToken] {
    let home = mailbox.home
    let joiners = ContiguousArray(handlers.map { mailbox.joiner($0, home) })
    mailbox.add(joiners)
    return joiners.map { HandlerToken($0.record, home) }
  }

  /// Adds a handler: what every adding verb comes down to.
  @discardableResult public nonisolated func attach(_ handler: Handler<Payload>) -> HandlerToken {
    let home = mailbox.home
    let joiner = mailbox.joiner(handler, home)
    mailbox.add([joiner])
    return HandlerToken(joiner.record, home)
  }

  /// Adds an inline handler that has nothing else.
  @inlinable @discardableResult public nonisolated func attachInline(
    once: Bool, _ body: @escaping @Sendable (Payload) throws -> Void
  ) -> HandlerToken {
    let record = Record(once ? Bit.once : 0)
    mailbox.add(body, record)
    return HandlerToken(record, mailbox.home)
  }

  /// The event without its sending half, to be handed to those who only listen. It keeps the event alive.
  public nonisolated var source: some EventSource<Payload> { SourceView(event: self) }

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

  func add(_ handlers: [Handler<Occurrence<Inner>>]) -> [HandlerToken] { event.add(handlers.map { $0.ofPayloads(event.name) }) }
  func attach(_ handler: Handler<Occurrence<Inner>>) -> HandlerToken { event.attach(handler.ofPayloads(event.name)) }
  func remove(_ token: HandlerToken) -> Bool { event.remove(token) }
}

extension Handler {
  /// The handler of payloads that a handler of occurrences is, on an event of that name.
  func ofPayloads<Inner: Sendable>(_ name: String?) -> Handler<Inner> where Payload == Occurrence<Inner> {
    let convert: @Sendable (Call<Inner>) -> Call<Payload> = { call in
      guard let stamp = call.stamp else { preconditionFailure("a handler of occurrences wants a stamp") }
      let occurrence = Occurrence(
        payload: call.payload, sender: stamp.sender, eventName: name, sequence: stamp.sequence, instant: stamp.instant.instant)
      return Call(occurrence, call.owner, stamp)
    }
    let converted: Handler<Inner>.Body =
      switch body {
      case .direct(let body): .sync { try body(convert($0).payload) }
      case .directAsync(let body): .async { try await body(convert($0).payload) }
      case .sync(let body): .sync { try body(convert($0)) }
      case .async(let body): .async { try await body(convert($0)) }
      case .mainAsync(let body): .mainAsync { try await body(convert($0)) }
      case .isolated(let body): .isolated { actor, call in try await body(actor, convert(call)) }
      }
    var handler = Handler<Inner>(place, converted)
    handler.options = options
    handler.options.wantsStamp = true
    handler.isOnce = isOnce
    return handler
  }
}
