public import Eventing

/// A source of the whole occurrences of a ``RemoteEvent``. It retains the event.
public struct RemoteOccurrences<Payload: Sendable>: EventSource {
  let remote: RemoteEvent<Payload>

  private var source: some EventSource<RemoteOccurrence<Payload>> { remote.event.map { $0.occurrence } }

  @discardableResult public func add(contentsOf handlers: [Handler<RemoteOccurrence<Payload>>]) -> [HandlerToken] {
    source.add(contentsOf: handlers)
  }

  @discardableResult public func add(_ handler: Handler<RemoteOccurrence<Payload>>) -> HandlerToken {
    source.add(handler)
  }

  @discardableResult public func remove(_ token: HandlerToken) -> Bool { remote.event.remove(token) }
}
