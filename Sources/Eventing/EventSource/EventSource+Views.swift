// Views: what can be listened to instead of what is sent. They run synchronously where the event delivers, in order, and hold nothing back. What is given to
// them is called once for each handler and occurrence; the handler then runs wherever it was added to run. Each keeps its event alive.

extension EventSource {
  /// What a closure makes of each payload.
  @inlinable public nonisolated func map<Output: Sendable>(_ transform: @escaping @Sendable (Payload) -> Output)
    -> some EventSource<Output>
  {
    ConvertedSource(base: self, convert: transform)
  }

  /// What a closure makes of each payload; nothing where it gives `nil`.
  ///
  /// The reports count a handler that so hears nothing as skipped; a once handler waits on.
  @inlinable public nonisolated func compactMap<Output: Sendable>(_ transform: @escaping @Sendable (Payload) -> Output?)
    -> some EventSource<Output>
  {
    ConvertedSource(base: self, convert: transform)
  }

  /// Those payloads of which a closure says `true`.
  ///
  /// The reports count a handler that so hears nothing as skipped; a once handler waits on.
  @inlinable public nonisolated func filter(_ isIncluded: @escaping @Sendable (Payload) -> Bool) -> some EventSource<
    Payload
  > {
    ConvertedSource(base: self) { isIncluded($0) ? $0 : nil }
  }

  /// That something was sent, without what.
  @inlinable public nonisolated var signal: some EventSource<Void> { map { _ in () } }
}

/// A source of what is made of another's payloads.
@usableFromInline struct ConvertedSource<Base: EventSource, Payload: Sendable>: EventSource {
  @usableFromInline let base: Base
  @usableFromInline let convert: @Sendable (Base.Payload) -> Payload?

  @inlinable init(base: Base, convert: @escaping @Sendable (Base.Payload) -> Payload?) {
    self.base = base
    self.convert = convert
  }

  @inlinable func add(_ handlers: [Handler<Payload>]) -> [HandlerToken] { base.add(handlers.map(converted)) }
  @inlinable func attach(_ handler: Handler<Payload>) -> HandlerToken { base.attach(converted(handler)) }
  @inlinable func remove(_ token: HandlerToken) -> Bool { base.remove(token) }
  @inlinable func converted(_ handler: Handler<Payload>) -> Handler<Base.Payload> { handler.viewed(convert) }
}
