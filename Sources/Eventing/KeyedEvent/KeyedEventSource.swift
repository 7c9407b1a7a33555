/// A keyed event to which handlers can be added but nothing can be sent: ``KeyedEvent/source``.
///
/// Hand it out to code that must not send. Only this library conforms.
public protocol KeyedEventSource<Key, Payload>: Sendable {
  associatedtype Key: Hashable & Sendable
  associatedtype Payload: Sendable
  associatedtype OneKey: EventSource<Payload>
  associatedtype AnyKey: EventSource<(key: Key, payload: Payload)>

  /// A source of the payloads that are sent to one key.
  subscript(key: Key) -> OneKey { get }
  /// A source of all payloads that are sent to a key, together with the key.
  var anyKey: AnyKey { get }
}

extension KeyedEvent {
  /// A view through which handlers can be added but nothing can be sent.
  ///
  /// The view keeps the event alive.
  public var source: some KeyedEventSource<Key, Payload> { KeyedSourceView(event: self) }
}

private struct KeyedSourceView<Key: Hashable & Sendable, Payload: Sendable>: KeyedEventSource {
  let event: KeyedEvent<Key, Payload>

  subscript(key: Key) -> some EventSource<Payload> { event[key] }
  var anyKey: some EventSource<(key: Key, payload: Payload)> { event.anyKey }
}
