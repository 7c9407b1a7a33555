/// One event with many keys: a payload sent to a key reaches the handlers of that key and of
/// ``anyKey``.
///
///     let moved = KeyedEvent<PlayerID, Position>()
///     moved[me].addHandler { position in show(position) }
///     moved.anyKey.addHandler { id, position in print(id, position) }
///     moved.post(start, to: me)
///
/// A keyed event has one order across all keys and gives every guarantee of an ``Event``. The
/// handlers of an occurrence run by priority and then in the order in which they were added, no
/// matter whether they belong to the key or to ``anyKey``.
///
/// Sending to a key costs what the handlers that it reaches cost, whether there are ten keys or a
/// million. A key without handlers needs no memory. The event calls `hash(into:)` and `==` of its
/// keys with no mutex held.
///
/// A copy refers to the same event, which lives as long as there is a copy or a source of it.
///
/// With objects as keys (``ObjectKey``), the event holds each object weakly and never mistakes a
/// later object for it.
public struct KeyedEvent<Key: Hashable & Sendable, Payload: Sendable>: Sendable {
  @usableFromInline let event: Event<KeyedPayload<Key, Payload>>
  @usableFromInline let tables: KeyTables<Key, Payload>
  @usableFromInline let index: KeyIndex

  /// Creates an event without handlers.
  ///
  /// - Parameters:
  ///   - name: A name for logs, occurrences and snapshots.
  ///   - policy: How to treat handlers that throw. By default, their errors are only collected.
  public init(_ name: String? = nil, onFailure policy: FailurePolicy = .collect) {
    event = Event(name, onFailure: policy)
    tables = KeyTables()
    index = KeyIndex(tables)
    let (core, rareState, index) = (event.core, event.core.rareState, index)
    unsafe tables.objects?.core = core
    // An inspection may have registered the event already, so another thread may be polling it and
    // reading `keyIndex`.
    core.mutex.withLock { unsafe rareState.keyIndex = index }
  }

  /// A source of the payloads sent to one key, for instance with ``post(_:to:from:)-(_,Key,_)``.
  /// The source retains the event.
  @inlinable public subscript(key: Key) -> some EventSource<Payload> { KeySource(base: event, key: key) }

  /// An event for payloads that are sent to no key.
  ///
  ///     didTouch.untargeted.addHandler { touch in print(touch) }
  ///     didTouch.untargeted.post(touch)
  ///
  /// It's a separate event with the name and the failure policy of this one. It isn't part of the
  /// order of the keys, handlers of ``anyKey`` don't receive its payloads, and operations on the
  /// keyed event's handlers, including ``HandlerRegistry/finish()``, don't affect it. The first
  /// access creates the event, and each later access returns the same one, which lives as long as
  /// the keyed event.
  public var untargeted: Event<Payload> {
    tables.untargeted.load() ?? tables.untargeted.set(Event(event.name, onFailure: event.core.anchor.failurePolicy))
  }

  /// A source of all payloads sent to any key, together with the key. The source retains the event.
  @inlinable public var anyKey: some EventSource<(key: Key, payload: Payload)> {
    ConvertedSource(base: event, letter: KeyedPayload<Key, Payload>.letterOfAnyKey) { keyed in
      (key: keyed.key, payload: keyed.payload)
    }
  }
}

extension KeyedEvent where Key == ObjectKey {
  /// A source of the payloads sent to one object. It holds the object weakly and the event
  /// strongly.
  @inlinable public subscript(object: some AnyObject & Sendable) -> some EventSource<Payload> {
    self[ObjectKey(object)]
  }
}

extension KeyedEvent {
  /// Sends a payload to one key without waiting, as ``Event/post(_:from:)`` does.
  ///
  /// If the event is idle, the inline handlers have been called by the time this returns. Inside a
  /// handler, the payload is delivered after the current occurrence has reached every handler.
  ///
  /// - Parameters:
  ///   - payload: The payload.
  ///   - key: The key whose handlers receive the payload, along with the handlers of ``anyKey``.
  ///   - sender: The sender, for handlers that receive whole occurrences. It's held weakly.
  /// - Complexity: O(*n*) for the *n* handlers reached.
  @inlinable public func post(_ payload: Payload, to key: Key, from sender: (any AnyObject & Sendable)? = nil) {
    let keyed = KeyedPayload(key, payload)
    lend(keyed) { payload in
      unsafe event.core.post(payload, from: sender) {
        unsafe tables.table(of: keyed.key)
      }
    }
  }

  /// Sends a payload to several keys without waiting, as one occurrence per key, in the order of
  /// the keys. A key that appears twice counts once. See ``post(_:to:from:)-(_,Key,_)``.
  public func post(_ payload: Payload, to keys: some Sequence<Key>, from sender: (any AnyObject & Sendable)? = nil) {
    var seen: Set<Key> = []
    for key in keys where seen.insert(key).inserted { post(payload, to: key, from: sender) }
  }

  /// Sends a payload to one key and waits until every handler that it reached has finished, as
  /// ``Event/send(_:from:)`` does.
  ///
  /// Inside a handler, this doesn't wait for work that is waiting for that handler, and the report
  /// counts such work as deferred. Cancelling the task has no effect: the handlers run, and the
  /// wait continues.
  ///
  /// - Parameters:
  ///   - payload: The payload.
  ///   - key: The key whose handlers receive the payload, along with the handlers of ``anyKey``.
  ///   - sender: The sender, for handlers that receive whole occurrences. It's held weakly.
  /// - Returns: The outcome of the occurrence.
  /// - Complexity: O(*n*) for the *n* handlers reached.
  @discardableResult public nonisolated(nonsending) func send(
    _ payload: Payload, to key: Key, from sender: (any AnyObject & Sendable)? = nil
  ) async -> SendReport { await beginSend(KeyedPayload(key, payload), from: sender).wait() }

  /// Sends a payload to several keys, as one occurrence per key, in the order of the keys. It waits
  /// for all of them at once and returns when every handler that they reached has finished. See
  /// ``send(_:to:from:)-(_,Key,_)``.
  ///
  /// - Returns: A report for each key, in the order of the keys. A key that appears twice counts
  ///   once.
  @discardableResult public nonisolated(nonsending) func send(
    _ payload: Payload, to keys: some Sequence<Key>, from sender: (any AnyObject & Sendable)? = nil
  ) async -> [SendReport] {
    var (seen, sends) = (Set<Key>(), [PendingSend]())
    for key in keys where seen.insert(key).inserted {
      sends.append(beginSend(KeyedPayload(key, payload), from: sender))
    }
    return await PendingSend.waitForAll(sends)
  }

  /// Sends a payload to one key without waiting, as ``post(_:to:from:)-(_,Key,_)`` does.
  ///
  /// - Returns: A ticket whose report can be awaited later.
  public func submit(_ payload: Payload, to key: Key, from sender: (any AnyObject & Sendable)? = nil) -> SendTicket {
    event.submit(KeyedPayload(key, payload), from: sender)
  }

  private func beginSend(
    _ keyed: KeyedPayload<Key, Payload>, from sender: (any AnyObject & Sendable)?
  ) -> PendingSend {
    lend(keyed) { payload in
      unsafe event.core.send(payload, from: sender) {
        unsafe tables.table(of: keyed.key)
      }
    }
  }
}

extension KeyedEvent where Key == ObjectKey {
  /// Sends a payload to an object without waiting: see ``post(_:to:from:)-(_,Key,_)``.
  @inlinable public func post(
    _ payload: Payload, to object: some AnyObject & Sendable, from sender: (any AnyObject & Sendable)? = nil
  ) {
    post(payload, to: ObjectKey(object), from: sender)
  }

  /// Sends a payload to an object and waits until every handler that it reached has finished: see
  /// ``send(_:to:from:)-(_,Key,_)``.
  @discardableResult public nonisolated(nonsending) func send(
    _ payload: Payload, to object: some AnyObject & Sendable, from sender: (any AnyObject & Sendable)? = nil
  ) async -> SendReport { await send(payload, to: ObjectKey(object), from: sender) }

  /// Sends a payload to an object without waiting and returns a ticket whose report can be awaited
  /// later: see ``submit(_:to:from:)-(_,Key,_)``.
  public func submit(
    _ payload: Payload, to object: some AnyObject & Sendable, from sender: (any AnyObject & Sendable)? = nil
  ) -> SendTicket { submit(payload, to: ObjectKey(object), from: sender) }
}

extension KeyedEvent: HandlerRegistry {
  /// The handlers of all keys and of ``anyKey``.
  public var handlerTable: HandlerTable { HandlerTable(content: .event(BorrowedCore(event), .keyed)) }
}

// Inspecting keys.
extension KeyedEvent {
  /// The keys that have handlers, in no particular order. Handlers of ``anyKey`` don't count.
  ///
  /// Callable from any thread, without waiting. Reflects every handler added before the call.
  ///
  /// - Complexity: O(handlers of all keys and of ``anyKey``).
  public var keys: [Key] {
    var seen: Set<Key> = []
    return event.core.livingKeyBoxes().compactMap { box in
      guard let key = (box as? KeyBox<Key>)?.key, seen.insert(key).inserted else { return nil }
      return key
    }
  }

  /// Returns the number of handlers of one key, without those of ``anyKey``.
  ///
  /// Callable from any thread, without waiting. Reflects every handler added before the call.
  ///
  /// - Complexity: O(handlers of all keys and of ``anyKey``).
  public func handlerCount(for key: Key) -> Int {
    event.core.livingKeyBoxes().count { ($0 as? KeyBox<Key>)?.key == key }
  }
}

extension KeyedEvent: CustomStringConvertible {
  /// The name of the event and the types of its payloads and keys.
  public var description: String { "event \(name.map { "\"\($0)\" " } ?? "")of \(Payload.self) to \(Key.self)" }
}

// Sources of failures, and of occurrences that reached no handler.

extension KeyedEvent {
  /// A source of the errors that handlers of any key throw: see ``Event/failures``.
  public var failures: some EventSource<HandlerFailure> { event.failures }

  /// A source of the payloads that a handler of any key could not handle, even at its last attempt,
  /// with the keys that they were sent to: see ``Event/deadLetters``.
  public var deadLetters: some EventSource<DeadLetter<(key: Key, payload: Payload)>> {
    event.deadLetters.map { letter in
      DeadLetter(payload: (key: letter.payload.key, payload: letter.payload.payload), failure: letter.failure)
    }
  }

  /// A source of the occurrences that reached no handler of their key or of ``anyKey``: see
  /// ``Event/unhandled``.
  public var unhandled: some EventSource<EventOccurrence<(key: Key, payload: Payload)>> {
    event.unhandled.map { whole in
      whole.with((key: whole.payload.key, payload: whole.payload.payload))
    }
  }
}
