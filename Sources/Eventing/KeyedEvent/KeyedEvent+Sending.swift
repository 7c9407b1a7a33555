extension KeyedEvent {
  /// Sends a payload to one key without waiting, as ``Event/post(_:from:)`` does.
  ///
  /// If the event is idle, the inline handlers have been called when this returns. Inside a
  /// handler, the payload is delivered after the current occurrence has reached every handler.
  ///
  /// - Parameters:
  ///   - payload: The payload.
  ///   - key: The key whose handlers receive the payload, beside the handlers of ``anyKey``.
  ///   - sender: The sender, for handlers that receive whole occurrences. It is held weakly.
  /// - Complexity: O(*n*) for the *n* handlers that are reached.
  @inlinable public func post(_ payload: Payload, to key: Key, from sender: (any AnyObject & Sendable)? = nil) {
    post(KeyedPayload(key, payload), from: sender)
  }

  /// Sends a payload to several keys without waiting, as one occurrence for each key, in the order
  /// of the keys. A key that appears twice counts once. See ``post(_:to:from:)-(_,Key,_)``.
  public func post(_ payload: Payload, to keys: some Sequence<Key>, from sender: (any AnyObject & Sendable)? = nil) {
    var seen: Set<Key> = []
    for key in keys where seen.insert(key).inserted { post(payload, to: key, from: sender) }
  }

  /// Sends a payload to one key, and returns when every handler that it reached has finished, as
  /// ``Event/send(_:from:)`` does.
  ///
  /// Inside a handler, work that waits for that handler is not waited for, and the report counts it
  /// as deferred. Cancelling the task changes nothing: the handlers run, and the wait goes on.
  ///
  /// - Parameters:
  ///   - payload: The payload.
  ///   - key: The key whose handlers receive the payload, beside the handlers of ``anyKey``.
  ///   - sender: The sender, for handlers that receive whole occurrences. It is held weakly.
  /// - Returns: The outcome of the occurrence.
  /// - Complexity: O(*n*) for the *n* handlers that are reached.
  @discardableResult public nonisolated(nonsending) func send(
    _ payload: Payload, to key: Key, from sender: (any AnyObject & Sendable)? = nil
  ) async -> SendReport { await send(KeyedPayload(key, payload), from: sender) }

  /// Sends a payload to several keys, as one occurrence for each key, in the order of the keys.
  /// Returns when every handler that the occurrences reached has finished; it waits for all of them
  /// at once. See ``send(_:to:from:)-(_,Key,_)``.
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
  /// - Returns: A ticket, whose report can be awaited later.
  public func submit(_ payload: Payload, to key: Key, from sender: (any AnyObject & Sendable)? = nil) -> SendTicket {
    event.submit(KeyedPayload(key, payload), from: sender)
  }

  @inlinable func post(_ keyed: KeyedPayload<Key, Payload>, from sender: (any AnyObject & Sendable)?) {
    lend(keyed) { payload in
      unsafe event.core.post(payload, from: sender) {
        unsafe tables.table(of: keyed.key)
      }
    }
  }

  nonisolated(nonsending) func send(
    _ keyed: KeyedPayload<Key, Payload>, from sender: (any AnyObject & Sendable)?
  ) async -> SendReport { await beginSend(keyed, from: sender).wait() }

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
  /// Sends a payload to an object without waiting; see ``post(_:to:from:)-(_,Key,_)``.
  @inlinable public func post(
    _ payload: Payload, to object: some AnyObject & Sendable, from sender: (any AnyObject & Sendable)? = nil
  ) {
    post(payload, to: ObjectKey(object), from: sender)
  }

  /// Sends a payload to an object, and returns when every handler that it reached has finished. See
  /// ``send(_:to:from:)-(_,Key,_)``.
  @discardableResult public nonisolated(nonsending) func send(
    _ payload: Payload, to object: some AnyObject & Sendable, from sender: (any AnyObject & Sendable)? = nil
  ) async -> SendReport { await send(payload, to: ObjectKey(object), from: sender) }

  /// Sends a payload to an object without waiting. Returns a ticket, whose report can be awaited
  /// later. See ``submit(_:to:from:)-(_,Key,_)``.
  public func submit(
    _ payload: Payload, to object: some AnyObject & Sendable, from sender: (any AnyObject & Sendable)? = nil
  ) -> SendTicket { submit(payload, to: ObjectKey(object), from: sender) }
}
