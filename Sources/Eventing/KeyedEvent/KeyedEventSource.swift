/// A keyed event to which handlers can be added but nothing can be sent: see ``KeyedEvent/source``.
///
/// Give it to code that must not send. Only this library conforms.
public protocol KeyedEventSource<Key, Payload>: Sendable {
  /// The type of the keys.
  associatedtype Key: Hashable & Sendable
  /// The type of the payloads.
  associatedtype Payload: Sendable
  /// The type of the sources of one key.
  associatedtype OneKey: EventSource<Payload>
  /// The type of the source of all keys.
  associatedtype AnyKey: EventSource<(key: Key, payload: Payload)>

  /// A source of the payloads sent to one key.
  subscript(key: Key) -> OneKey { get }
  /// A source of all payloads sent to any key, together with the key.
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

@usableFromInline struct KeySource<Key: Hashable & Sendable, Payload: Sendable>: ViewSource {
  @usableFromInline let base: Event<KeyedPayload<Key, Payload>>
  @usableFromInline let key: Key

  @inlinable init(base: Event<KeyedPayload<Key, Payload>>, key: Key) {
    self.base = base
    self.key = key
  }

  @inlinable func converted(_ handler: Handler<Payload>) -> Handler<KeyedPayload<Key, Payload>> {
    let box = KeyBox(key)
    var handler: Handler<KeyedPayload<Key, Payload>> = handler.ofContents(letter: box.letter(Payload.self)) {
      $0.payload
    }
    handler.options.key = box
    return handler
  }
}

extension Handler {
  @inlinable func ofContents<Whole: Sendable>(
    letter: LetterPayload, _ contents: @escaping @Sendable (Whole) -> Payload
  ) -> Handler<Whole> {
    guard let body = any.inline else {
      var handler: Handler<Whole> = viewed(contents)
      handler.options.letter = options.letter.behind(letter)
      return handler
    }
    var handler = Handler<Whole>(
      .inline,
      .direct(
        HandlerClosure<Whole> { whole in
          let payload = contents(whole)
          try unsafe withUnsafePointer(to: payload) { unsafe try body(BorrowedPayload($0)) }
        }.erased))
    handler.options = options
    handler.isOnce = isOnce
    handler.any.source = any.source
    return handler
  }
}
