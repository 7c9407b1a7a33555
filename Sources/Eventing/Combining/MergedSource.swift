extension EventSource {
  /// Returns a view of the payloads of this source and of others.
  ///
  ///     let token = orders.merge(returns, rooms[7]).addHandler { order in book(order) }
  ///
  /// - **Order.** The payloads of each source keep their order. A handler is called for one payload
  ///   at a time and has one lane, pace and bound for all sources.
  /// - **Begin.** Whatever a source gives a new handler first, such as the value of an
  ///   ``Observed``, comes first from that source.
  /// - **Reports.** A send to one of the sources waits for the handler and counts it as a forward,
  ///   delivered once the payload has been passed on. The handler's errors aren't in the report. They
  ///   are in ``Event/failures`` of this source, or of the event that it is a view of. They make no
  ///   dead letters.
  /// - **End.** A handler ends when all of the sources have ended. Its token removes it from all of
  ///   them. The view keeps the sources alive; a handler added through it doesn't.
  ///
  /// - Parameter others: The other sources.
  /// - Returns: A view of all payloads.
  /// - Complexity: O(1). Adding a handler adds one to each source.
  public nonisolated func merge(_ others: any EventSource<Payload>...) -> some EventSource<Payload> {
    MergedSource(sources: [self] + others)
  }
}

struct MergedSource<Payload: Sendable>: EventSource {
  let sources: [any EventSource<Payload>]
  private let joined = JoinedEvents()

  init(sources: [any EventSource<Payload>]) { self.sources = sources }

  func add(_ handler: Handler<Payload>) -> HandlerToken { add(contentsOf: [handler])[0] }

  func add(contentsOf handlers: [Handler<Payload>]) -> [HandlerToken] {
    let event = Event<Payload>(untold: nil)
    return joined.add(handlers, to: event) { sources.map { $0.forward(to: event, strongly: true, isJoined: true) } }
  }

  func remove(_ token: HandlerToken) -> Bool { joined.remove(token) }
}

/// The private events behind a view of several sources. The sources' forwards keep them alive.
final class JoinedEvents: Sendable {
  private let numbers = Guarded<Set<UInt64>>([])

  func add<Payload: Sendable>(
    _ handlers: [Handler<Payload>], to event: Event<Payload>, forwarding begin: () -> [HandlerToken]
  ) -> [HandlerToken] {
    let number = event.core.anchor.number
    numbers.withLock { _ = $0.insert(number) }
    let forwards = Forwards(number, of: self)
    let tokens = event.add(
      contentsOf: handlers.map { handler in
        var joined: Handler<Payload> = handler.viewed { payload in
          _ = forwards  // retained by the closure
          return payload
        }
        joined.options.letter = handler.options.letter
        return joined
      })
    let begun = begin()
    forwards.tokens.withLock { $0 = begun }
    return tokens
  }

  func remove(_ token: HandlerToken) -> Bool {
    numbers.withLock { $0.contains(token.anchor.number) } && token.remove()
  }

  private final class Forwards: Sendable {
    let tokens = Guarded<[HandlerToken]>([])
    private let number: UInt64
    private let events: JoinedEvents

    init(_ number: UInt64, of events: JoinedEvents) { (self.number, self.events) = (number, events) }

    deinit {
      for token in tokens.withLock({ $0 }) { token.remove() }
      events.numbers.withLock { [number] in _ = $0.remove(number) }
    }
  }
}
