extension EventSource {
  /// Returns a view of the payloads of this source and of others.
  ///
  ///     let token = orders.merge(returns, rooms[7]).addHandler { order in book(order) }
  ///
  /// - **Order.** The payloads of each source come in its order. One handler is called for one
  ///   payload at a time, and has one lane, pace and bound for all sources.
  /// - **Begin.** What a source gives a new handler first, such as the value of an ``Observed``,
  ///   comes first from that source.
  /// - **Reports.** A send to one of the sources waits for the handler, and counts it as a forward:
  ///   delivered when it has been passed on. Its errors are not in the report.
  /// - **End.** A handler ends when all of the sources have ended. Its token removes it from all of
  ///   them. The view keeps the sources alive; a handler that was added through it does not.
  ///
  /// - Parameter others: The other sources.
  /// - Returns: A view of all payloads.
  /// - Complexity: O(1). Adding a handler adds one to each source.
  public nonisolated func merge(_ others: any EventSource<Payload>...) -> some EventSource<Payload> {
    MergedSource(sources: [self] + others)
  }
}

/// A view of the payloads of several sources.
///
/// The handlers that are added together are those of a private event, to which each source
/// forwards. The sources retain the private event.
struct MergedSource<Payload: Sendable>: EventSource {
  let sources: [any EventSource<Payload>]
  /// The numbers of the private events that have handlers.
  private let events = MergedEvents()

  init(sources: [any EventSource<Payload>]) { self.sources = sources }

  func add(_ handler: Handler<Payload>) -> HandlerToken { add(contentsOf: [handler])[0] }

  func add(contentsOf handlers: [Handler<Payload>]) -> [HandlerToken] {
    let event = Event<Payload>(untold: nil)
    let number = event.core.anchor.number
    events.numbers.withLock { _ = $0.insert(number) }
    let forwards = Forwards(number, of: events)
    let tokens = event.add(
      contentsOf: handlers.map { handler in
        var merged: Handler<Payload> = handler.viewed { payload in
          _ = forwards  // retained by the closure
          return payload
        }
        merged.options.letter = handler.options.letter
        return merged
      })
    forwards.begin(sources.map { $0.forward(to: event, strongly: true) })
    return tokens
  }

  func remove(_ token: HandlerToken) -> Bool {
    events.numbers.withLock { $0.contains(token.anchor.number) } && token.remove()
  }
}

final class MergedEvents: Sendable {
  let numbers = Guarded<Set<UInt64>>([])
}

/// The forwards to one private event of a ``MergedSource``. The closures of the event's handlers
/// retain them: when the last one has gone, they are removed.
private final class Forwards: Sendable {
  private let tokens = Guarded<[HandlerToken]>([])
  private let number: UInt64
  private let events: MergedEvents

  init(_ number: UInt64, of events: MergedEvents) { (self.number, self.events) = (number, events) }

  func begin(_ forwards: [HandlerToken]) { tokens.withLock { $0 = forwards } }

  deinit {
    for token in tokens.withLock({ $0 }) { token.remove() }
    events.numbers.withLock { [number] in _ = $0.remove(number) }
  }
}
