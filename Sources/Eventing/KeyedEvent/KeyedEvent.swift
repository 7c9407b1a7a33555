/// One event with many keyIndex: what is sent to a key reaches the handlers of that key, and those of any key.
///
///     let moved = KeyedEvent<PlayerID, DeliveryCursor>()
///     moved[me].addHandler { position in show(position) }
///     moved.anyKey.addHandler { id, position in print(id, position) }
///     moved.post(start, to: me)
///
/// It is one event: one order over all keys, and everything that an ``Event`` guarantees. The handlers of an occurrence run by priority and then in the order in
/// which they were added, those of its key and those of any key alike. What is sent to a key costs what those handlers cost, be there ten keys or a million;
/// a key without handlers costs nothing, and leaves nothing behind.
///
/// With objects as keyIndex (``ObjectKey``) nothing keeps the object alive, and no later object is taken for it.
public struct KeyedEvent<Key: Hashable & Sendable, Payload: Sendable>: Sendable {
  @usableFromInline let event: Event<KeyedPayload<Key, Payload>>
  @usableFromInline let tables: KeyIndex<Key, Payload>

  /// An event without handlers.
  public init(_ name: String? = nil) {
    event = Event(name)
    tables = KeyIndex()
    unsafe event.core.pendingWork.keyIndex = tables
  }

  /// For logs, occurrences and snapshots.
  public var name: String? { event.name }

  /// What is sent to one key: to be listened to. What sends is ``post(_:to:from:)-(_,Key,_)`` and its like.
  @inlinable public subscript(key: Key) -> some EventSource<Payload> { KeySource(event: event, key: key) }

  /// What is sent to no key; it does not reach those who listen to ``anyKey``.
  @inlinable public var untargeted: some EventSource<Payload> { KeySource(event: event, key: nil) }

  /// What is sent to any key, with sender, event name, sequence number and instant.
  public var occurrences: some EventSource<Occurrence<(key: Key, payload: Payload)>> {
    event.occurrences.compactMap { whole in
      whole.payload.key.map { key in
        Occurrence(
          payload: (key: key, payload: whole.payload.payload), sender: whole.sender, eventName: whole.eventName,
          sequence: whole.sequence, instant: whole.instant)
      }
    }
  }

  /// What is sent to any key, with the key; not what is sent to none.
  @inlinable public var anyKey: some EventSource<(key: Key, payload: Payload)> {
    event.compactMap { addressed in addressed.key.map { (key: $0, payload: addressed.payload) } }
  }
}

extension KeyedEvent where Key == ObjectKey {
  /// What is sent to one object, which is held weakly.
  @inlinable public subscript(object: some AnyObject & Sendable) -> some EventSource<Payload> {
    self[ObjectKey(object)]
  }
}

/// One key of an event, or none.
@usableFromInline struct KeySource<Key: Hashable & Sendable, Payload: Sendable>: EventSource {
  @usableFromInline let event: Event<KeyedPayload<Key, Payload>>
  @usableFromInline let key: Key?

  @inlinable init(event: Event<KeyedPayload<Key, Payload>>, key: Key?) {
    self.event = event
    self.key = key
  }
  @inlinable func add(_ handlers: [Handler<Payload>]) -> [HandlerToken] { event.add(handlers.map(addressed)) }
  @inlinable func attach(_ handler: Handler<Payload>) -> HandlerToken { event.attach(addressed(handler)) }
  @inlinable func remove(_ token: HandlerToken) -> Bool { event.remove(token) }

  @inlinable func addressed(_ handler: Handler<Payload>) -> Handler<KeyedPayload<Key, Payload>> {
    var handler: Handler<KeyedPayload<Key, Payload>> = handler.ofContents { $0.payload }
    handler.options.address = KeyBox(key)
    return handler
  }
}

extension Handler {
  /// The handler of something that has the payload in it.
  @inlinable func ofContents<Whole: Sendable>(_ contents: @escaping @Sendable (Whole) -> Payload) -> Handler<Whole> {
    guard let body = any.inline else { return viewed(contents) }
    var handler = Handler<Whole>(
      .inline,
      .direct(
        HandlerClosure<Whole> { whole in
          let payload = contents(whole)
          try unsafe withUnsafePointer(to: payload) { unsafe try body(BorrowedPayload($0)) }
        }.erased))
    handler.options = options
    handler.isOnce = isOnce
    return handler
  }
}
