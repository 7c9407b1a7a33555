public import Eventing

/// A source of the whole occurrences of a ``RemoteEvent``. It retains the event.
public struct RemoteOccurrences<Payload: Sendable>: EventSource {
  let remote: RemoteEvent<Payload>

  private var source: some EventSource<RemoteOccurrence<Payload>> { remote.event.map(\.occurrence) }

  @discardableResult public func add(_ handlers: [Handler<RemoteOccurrence<Payload>>]) -> [HandlerToken] {
    source.add(handlers)
  }

  @discardableResult public func attach(_ handler: Handler<RemoteOccurrence<Payload>>) -> HandlerToken {
    source.attach(handler)
  }

  @discardableResult public func remove(_ token: HandlerToken) -> Bool { remote.event.remove(token) }
}
