// Sending through the event of a payload type, and adding handlers to it.

extension EventBus {
  /// Sends through the event of the payload's type without waiting: see ``Event/post(_:from:)``.
  ///
  /// ``event(for:)`` makes the event if there is none.
  public func post<Payload: Sendable>(_ payload: Payload, from sender: (any AnyObject & Sendable)? = nil) {
    event(for: Payload.self).post(payload, from: sender)
  }

  /// Sends through the event of the payload's type and waits for its handlers: see
  /// ``Event/send(_:from:)``.
  @discardableResult public nonisolated(nonsending) func send<Payload: Sendable>(
    _ payload: Payload, from sender: (any AnyObject & Sendable)? = nil
  ) async -> SendReport { await event(for: Payload.self).send(payload, from: sender) }

  /// Sends through the event of the payload's type and returns a ticket: see
  /// ``Event/submit(_:from:)``.
  public func submit<Payload: Sendable>(_ payload: Payload, from sender: (any AnyObject & Sendable)? = nil)
    -> SendTicket
  {
    event(for: Payload.self).submit(payload, from: sender)
  }

  /// Adds a handler to the event of a type.
  ///
  /// ``event(for:)`` makes the event if there is none. All else is as for
  /// ``EventSource/addHandler(named:on:priority:once:fileID:line:_:)-(_,SyncDelivery,_,_,_,_,_)``.
  ///
  /// - Parameters:
  ///   - type: The payload type.
  ///   - name: The name in logs and snapshots. Several handlers may share a name.
  ///   - delivery: Where the handler runs.
  ///   - priority: Handlers of higher priority come first.
  ///   - once: Whether the handler is called at most once.
  ///   - fileID: The file where the handler is made, for snapshots and diagnostics.
  ///   - line: The line where the handler is made.
  ///   - body: The closure that is called with each payload.
  /// - Returns: A token that names the handler. Dropping it changes nothing.
  @discardableResult public func addHandler<Payload: Sendable>(
    for type: Payload.Type, named name: String? = nil, on delivery: SyncDelivery = .inline, priority: Int = 0,
    once: Bool = false,
    fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (Payload) throws -> Void
  ) -> HandlerToken {
    event(for: type).addHandler(
      named: name, on: delivery, priority: priority, once: once, fileID: fileID, line: line, body)
  }

  /// Adds an asynchronous handler to the event of a type: see
  /// ``addHandler(for:named:on:priority:once:fileID:line:_:)-(_,_,SyncDelivery,_,_,_,_,_)``.
  @discardableResult public func addHandler<Payload: Sendable>(
    for type: Payload.Type, named name: String? = nil, on delivery: AsyncDelivery = .inOrder, priority: Int = 0,
    once: Bool = false,
    fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (Payload) async throws -> Void
  ) -> HandlerToken {
    event(for: type).addHandler(
      named: name, on: delivery, priority: priority, once: once, fileID: fileID, line: line, body)
  }

  /// Adds a synchronous handler on the main actor to the event of a type: see
  /// ``addHandler(for:named:on:priority:once:fileID:line:_:)-(_,_,SyncDelivery,_,_,_,_,_)``.
  @discardableResult public func addHandler<Payload: Sendable>(
    for type: Payload.Type, named name: String? = nil, on delivery: MainDelivery, priority: Int = 0, once: Bool = false,
    fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @MainActor @Sendable (Payload) throws -> Void
  ) -> HandlerToken {
    event(for: type).addHandler(
      named: name, on: delivery, priority: priority, once: once, fileID: fileID, line: line, body)
  }

  /// Adds an asynchronous handler on the main actor to the event of a type: see
  /// ``addHandler(for:named:on:priority:once:fileID:line:_:)-(_,_,SyncDelivery,_,_,_,_,_)``.
  @discardableResult public func addHandler<Payload: Sendable>(
    for type: Payload.Type, named name: String? = nil, on delivery: MainDelivery, priority: Int = 0, once: Bool = false,
    fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @MainActor @Sendable (Payload) async throws -> Void
  ) -> HandlerToken {
    event(for: type).addHandler(
      named: name, on: delivery, priority: priority, once: once, fileID: fileID, line: line, body)
  }
}
