/// One event with many keys: a payload that is sent to a key reaches the handlers of that key, and
/// the handlers of ``anyKey``.
///
///     let moved = KeyedEvent<PlayerID, Position>()
///     moved[me].addHandler { position in show(position) }
///     moved.anyKey.addHandler { id, position in print(id, position) }
///     moved.post(start, to: me)
///
/// A keyed event has one order over all keys, and every guarantee of an ``Event``. The handlers of
/// an occurrence run by priority and then in the order of adding. This order does not distinguish
/// handlers of the key from handlers of ``anyKey``.
///
/// Sending to a key costs what the handlers that it reaches cost, whether there are ten keys or a
/// million. A key without handlers needs no memory. The event calls `hash(into:)` and `==` of its
/// keys with no mutex held.
///
/// A copy refers to the same event, which lives as long as a copy, or a source of it, exists.
///
/// With objects as keys (``ObjectKey``), the event holds each object weakly, and never mistakes a
/// later object for it.
public struct KeyedEvent<Key: Hashable & Sendable, Payload: Sendable>: Sendable {
  @usableFromInline let event: Event<KeyedPayload<Key, Payload>>
  @usableFromInline let tables: KeyTables<Key, Payload>
  @usableFromInline let index: KeyIndex

  /// Creates an event without handlers.
  ///
  /// - Parameters:
  ///   - name: A name for logs, occurrences and snapshots.
  ///   - policy: The treatment of handlers that throw. By default their errors are only collected.
  public init(_ name: String? = nil, onFailure policy: FailurePolicy = .collect) {
    event = Event(name, onFailure: policy)
    tables = KeyTables()
    index = KeyIndex(tables)
    let (core, pendingWork, index) = (event.core, event.core.pendingWork, index)
    unsafe tables.objects?.core = core
    // An inspection may have registered the event already, so another thread may poll it and read
    // `keyIndex`.
    core.mutex.withLock { unsafe pendingWork.keyIndex = index }
  }

  /// A source of the payloads that are sent to one key, for instance with
  /// ``post(_:to:from:)-(_,Key,_)``. The source retains the event.
  @inlinable public subscript(key: Key) -> some EventSource<Payload> { KeySource(event: event, key: key) }

  /// An event for the payloads that are sent to no key.
  ///
  ///     didTouch.untargeted.addHandler { touch in print(touch) }
  ///     didTouch.untargeted.post(touch)
  ///
  /// It is an event of its own, with the name and the failure policy of this one: the order of the
  /// keys does not include it, handlers of ``anyKey`` do not receive its payloads, and what the
  /// keyed event does with its handlers, ``HandlerRegistry/finish()`` included, leaves it alone.
  /// Each access returns the same event, which lives as long as the keyed event. It is made by the
  /// first access.
  public var untargeted: Event<Payload> {
    tables.untargeted.load() ?? tables.untargeted.set(Event(event.name, onFailure: event.core.anchor.failurePolicy))
  }

  /// A source of all payloads that are sent to a key, together with the key. The source retains the
  /// event.
  @inlinable public var anyKey: some EventSource<(key: Key, payload: Payload)> {
    ConvertedSource(base: event, letter: KeyedPayload<Key, Payload>.letterOfAnyKey) { keyed in
      (key: keyed.key, payload: keyed.payload)
    }
  }
}

extension KeyedEvent where Key == ObjectKey {
  /// A source of the payloads that are sent to one object. The object is held weakly, the event
  /// strongly.
  @inlinable public subscript(object: some AnyObject & Sendable) -> some EventSource<Payload> {
    self[ObjectKey(object)]
  }
}
