extension KeyedEvent {
  /// Sends to a key without waiting; see ``Event/post(_:from:)``.
  @inlinable public func post(_ payload: Payload, to key: Key, from sender: (any AnyObject & Sendable)? = nil) {
    post(KeyedPayload(key, payload), from: sender)
  }

  /// Sends to several keys without waiting, one occurrence each, in their order; to a key that is there twice once.
  public func post(_ payload: Payload, to keys: some Sequence<Key>, from sender: (any AnyObject & Sendable)? = nil) {
    var seen: Set<Key> = []
    for key in keys where seen.insert(key).inserted { post(payload, to: key, from: sender) }
  }

  /// Sends to no key without waiting: to those who listen to ``untargeted``.
  @inlinable public func postUntargeted(_ payload: Payload, from sender: (any AnyObject & Sendable)? = nil) {
    post(KeyedPayload(nil, payload), from: sender)
  }

  /// Sends to a key, and returns when every handler that was reached has finished; see ``Event/send(_:from:)``.
  @discardableResult public nonisolated(nonsending) func send(
    _ payload: Payload, to key: Key, from sender: (any AnyObject & Sendable)? = nil
  ) async -> SendReport { await send(KeyedPayload(key, payload), from: sender) }

  /// Sends to several keys, one occurrence each, in their order, to a key that is there twice once; returns when every handler that was reached has finished.
  @discardableResult public nonisolated(nonsending) func send(
    _ payload: Payload, to keys: some Sequence<Key>, from sender: (any AnyObject & Sendable)? = nil
  ) async -> [SendReport] {
    var (seen, tickets) = (Set<Key>(), [Ticket]())
    for key in keys where seen.insert(key).inserted { tickets.append(submit(payload, to: key, from: sender)) }
    var reports: [SendReport] = []
    for ticket in tickets { reports.append(await ticket.report) }
    return reports
  }

  /// Sends to no key, and returns when every handler that was reached has finished.
  @discardableResult public nonisolated(nonsending) func sendUntargeted(
    _ payload: Payload, from sender: (any AnyObject & Sendable)? = nil
  ) async -> SendReport { await send(KeyedPayload(nil, payload), from: sender) }

  /// Sends to a key without waiting; the ticket's report can be awaited later.
  public func submit(_ payload: Payload, to key: Key, from sender: (any AnyObject & Sendable)? = nil) -> Ticket {
    event.submit(KeyedPayload(key, payload), from: sender)
  }

  /// Sends to no key without waiting; the ticket's report can be awaited later.
  public func submitUntargeted(_ payload: Payload, from sender: (any AnyObject & Sendable)? = nil) -> Ticket {
    event.submit(KeyedPayload(nil, payload), from: sender)
  }

  @inlinable func post(_ addressed: KeyedPayload<Key, Payload>, from sender: (any AnyObject & Sendable)?) {
    let core = event.core
    let own = core.enter()
    guard own != 0 else { return lend(addressed) { core.postBusy($0, from: sender) } }
    lend(addressed) {
      unsafe core.post($0, to: tables.table(of: addressed.key), tables, isForAny: addressed.key != nil, sender)
    }
    core.leave(own)
  }

  nonisolated(nonsending) func send(
    _ addressed: KeyedPayload<Key, Payload>, from sender: (any AnyObject & Sendable)?
  ) async -> SendReport {
    let core = event.core
    let own = core.enter()
    guard own != 0 else { return await lend(addressed) { core.sendBusy($0, from: sender) }.wait() }
    let tally = lend(addressed) {
      unsafe core.deliver(
        $0, to: tables.table(of: addressed.key), tables, isForAny: addressed.key != nil, isAwaited: true,
        sender: sender, nil)
    }
    core.leave(own)
    return await tally.finish()
  }
}

extension KeyedEvent where Key == ObjectKey {
  /// Sends to an object without waiting.
  @inlinable public func post(
    _ payload: Payload, to object: some AnyObject & Sendable, from sender: (any AnyObject & Sendable)? = nil
  ) {
    post(payload, to: ObjectKey(object), from: sender)
  }

  /// Sends to several objects without waiting, one occurrence each, in their order; to an object that is there twice once.
  public func post<Object: AnyObject & Sendable>(
    _ payload: Payload, to objects: some Sequence<Object>, from sender: (any AnyObject & Sendable)? = nil
  ) {
    post(payload, to: objects.map { ObjectKey($0) }, from: sender)
  }

  /// Sends to an object, and returns when every handler that was reached has finished.
  @discardableResult public nonisolated(nonsending) func send(
    _ payload: Payload, to object: some AnyObject & Sendable, from sender: (any AnyObject & Sendable)? = nil
  ) async -> SendReport { await send(payload, to: ObjectKey(object), from: sender) }

  /// Sends to several objects, and returns when every handler that was reached has finished.
  @discardableResult public nonisolated(nonsending) func send<Object: AnyObject & Sendable>(
    _ payload: Payload, to objects: some Sequence<Object>, from sender: (any AnyObject & Sendable)? = nil
  ) async -> [SendReport] { await send(payload, to: objects.map { ObjectKey($0) }, from: sender) }

  /// Sends to an object without waiting; the ticket's report can be awaited later.
  public func submit(
    _ payload: Payload, to object: some AnyObject & Sendable, from sender: (any AnyObject & Sendable)? = nil
  ) -> Ticket { submit(payload, to: ObjectKey(object), from: sender) }
}
