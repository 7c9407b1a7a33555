// Handlers in all events of a bus that are called with every payload of a type.

extension EventBus {
  /// Adds a handler that is called with every payload of a type, whatever event of the bus the
  /// payload is sent through.
  ///
  ///     bus.addHandler(forAll: (any Auditable).self) { entry in print(entry) }
  ///
  /// The type may be that of a protocol that refines `Sendable`, of a class, or of one payload. The
  /// handler is called with each payload that `as?` can cast to the type. It is a handler of each
  /// event of the bus, found by type or by owner, and of each event that is made later:
  ///
  /// - Each event counts the handler as one of its own, in reports, failures and snapshots, with a
  ///   token of that event. A payload of another type counts as skipped.
  /// - There is one order for each event, and none over several events. Inline calls, and calls of
  ///   ``AsyncDelivery/task`` and ``AsyncDelivery/concurrent(limit:buffering:)``, may overlap for
  ///   different events. Anywhere else one call runs at a time, in all events together.
  /// - The token that this method returns names the handler in all events:
  ///   ``HandlerRegistry/remove(_:)`` and ``HandlerBag`` end the handler in all events. A method of
  ///   one event, such as ``HandlerRegistry/removeAll(where:)``, ends the handler in that event
  ///   only. An event that is removed from the bus loses the handler.
  /// - If `once` is true, the handler is called once in all events together, even if several
  ///   threads send.
  /// - ``HandlerRegistry/finish()`` ends the handler, after the calls for what was sent before.
  ///
  /// Every payload that is sent after this call has returned reaches the handler. Callable from any
  /// thread, and inside any handler. A bus without such handlers does no work for them.
  ///
  /// - Parameters:
  ///   - type: The type to which payloads are cast.
  ///   - name: The name in logs and snapshots. Several handlers may share a name.
  ///   - delivery: Where the handler runs.
  ///   - priority: Handlers of higher priority come first, in each event.
  ///   - once: Whether the handler is called at most once.
  ///   - fileID: The file where the handler is made, for snapshots and diagnostics.
  ///   - line: The line where the handler is made.
  ///   - body: The closure that is called with each payload of the type.
  /// - Returns: A token for the handler in all events. Dropping it changes nothing.
  /// - Complexity: O(*n* log *n*) for *n* events of the bus. Each occurrence of any event then
  ///   costs a cast, and takes the event's slow path.
  @discardableResult public func addHandler<P: Sendable>(
    forAll type: P.Type, named name: String? = nil, on delivery: SyncDelivery = .inline, priority: Int = 0,
    once: Bool = false, fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (P) throws -> Void
  ) -> HandlerToken {
    let place = delivery.place.inSeveralEvents
    return addEverywhere(name, priority, once, nil, SourceLine(fileID, line)) { handler in
      Handler<P>(on: SyncDelivery(place)) { payload in try withExtendedLifetime(handler) { try body(payload) } }
    }
  }

  /// Adds an asynchronous handler that is called with every payload of a type: see
  /// ``addHandler(forAll:named:on:priority:once:fileID:line:_:)-(_,_,SyncDelivery,_,_,_,_,_)``.
  @discardableResult public func addHandler<P: Sendable>(
    forAll type: P.Type, named name: String? = nil, on delivery: AsyncDelivery = .inOrder, priority: Int = 0,
    once: Bool = false, fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (P) async throws -> Void
  ) -> HandlerToken {
    let place = delivery.place.inSeveralEvents
    return addEverywhere(name, priority, once, nil, SourceLine(fileID, line)) { handler in
      Handler<P>(on: AsyncDelivery(place)) { payload in
        defer { withExtendedLifetime(handler) {} }
        try await body(payload)
      }
    }
  }

  /// Adds a synchronous handler on the main actor that is called with every payload of a type: see
  /// ``addHandler(forAll:named:on:priority:once:fileID:line:_:)-(_,_,SyncDelivery,_,_,_,_,_)``.
  @discardableResult public func addHandler<P: Sendable>(
    forAll type: P.Type, named name: String? = nil, on delivery: MainDelivery, priority: Int = 0, once: Bool = false,
    fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @MainActor @Sendable (P) throws -> Void
  ) -> HandlerToken {
    addEverywhere(name, priority, once, nil, SourceLine(fileID, line)) { handler in
      Handler<P>(on: delivery) { payload in try withExtendedLifetime(handler) { try body(payload) } }
    }
  }

  /// Adds an asynchronous handler on the main actor that is called with every payload of a type:
  /// see ``addHandler(forAll:named:on:priority:once:fileID:line:_:)-(_,_,SyncDelivery,_,_,_,_,_)``.
  @discardableResult public func addHandler<P: Sendable>(
    forAll type: P.Type, named name: String? = nil, on delivery: MainDelivery, priority: Int = 0, once: Bool = false,
    fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @MainActor @Sendable (P) async throws -> Void
  ) -> HandlerToken {
    addEverywhere(name, priority, once, nil, SourceLine(fileID, line)) { handler in
      Handler<P>(on: delivery) { payload in
        defer { withExtendedLifetime(handler) {} }
        try await body(payload)
      }
    }
  }
}

// Handlers with an owner. A handler holds its owner weakly, and strongly for the length of a call.
extension EventBus {
  /// Adds a handler that is called with its owner and every payload of a type. The handler ends
  /// when the owner is released. Otherwise like
  /// ``addHandler(forAll:named:on:priority:once:fileID:line:_:)-(_,_,SyncDelivery,_,_,_,_,_)``.
  ///
  /// - Parameters:
  ///   - type: The type to which payloads are cast.
  ///   - name: The name in logs and snapshots. Several handlers may share a name.
  ///   - delivery: Where the handler runs.
  ///   - priority: Handlers of higher priority come first, in each event.
  ///   - once: Whether the handler is called at most once.
  ///   - owner: The object that the handler belongs to. It is held weakly, and strongly for the
  ///     length of a call.
  ///   - fileID: The file where the handler is made, for snapshots and diagnostics.
  ///   - line: The line where the handler is made.
  ///   - body: The closure that is called with the owner and each payload of the type.
  /// - Returns: A token for the handler in all events. Dropping it changes nothing.
  @discardableResult public func addHandler<P: Sendable, Owner: AnyObject & Sendable>(
    forAll type: P.Type, named name: String? = nil, on delivery: SyncDelivery = .inline, priority: Int = 0,
    once: Bool = false, owner: Owner, fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (Owner, P) throws -> Void
  ) -> HandlerToken {
    let place = delivery.place.inSeveralEvents
    return addEverywhere(name, priority, once, owner, SourceLine(fileID, line)) { handler in
      Handler<P>(
        place,
        .sync { arguments in
          try withExtendedLifetime(handler) { try body(arguments.owner(), arguments.payload.payload()) }
        })
    }
  }

  /// Adds an asynchronous handler that is given its owner: see
  /// ``addHandler(forAll:named:on:priority:once:owner:fileID:line:_:)-(_,_,SyncDelivery,_,_,_,_,_,_)``.
  @discardableResult public func addHandler<P: Sendable, Owner: AnyObject & Sendable>(
    forAll type: P.Type, named name: String? = nil, on delivery: AsyncDelivery = .inOrder, priority: Int = 0,
    once: Bool = false, owner: Owner, fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (Owner, P) async throws -> Void
  ) -> HandlerToken {
    let place = delivery.place.inSeveralEvents
    return addEverywhere(name, priority, once, owner, SourceLine(fileID, line)) { handler in
      Handler<P>(
        place,
        .async { arguments in
          defer { withExtendedLifetime(handler) {} }
          try await body(arguments.owner(), arguments.payload.payload())
        })
    }
  }

  /// Adds a synchronous handler on the main actor that is given its owner: see
  /// ``addHandler(forAll:named:on:priority:once:owner:fileID:line:_:)-(_,_,SyncDelivery,_,_,_,_,_,_)``.
  @discardableResult public func addHandler<P: Sendable, Owner: AnyObject & Sendable>(
    forAll type: P.Type, named name: String? = nil, on delivery: MainDelivery, priority: Int = 0,
    once: Bool = false, owner: Owner, fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @MainActor @Sendable (Owner, P) throws -> Void
  ) -> HandlerToken {
    return addEverywhere(name, priority, once, owner, SourceLine(fileID, line), on: delivery.place) { handler in
      Handler<P>(
        delivery.place,
        .sync(
          RuntimeSPI.withoutMainActor { arguments in
            try withExtendedLifetime(handler) { try body(arguments.owner(), arguments.payload.payload()) }
          }))
    }
  }

  /// Adds an asynchronous handler on the main actor that is given its owner: see
  /// ``addHandler(forAll:named:on:priority:once:owner:fileID:line:_:)-(_,_,SyncDelivery,_,_,_,_,_,_)``.
  @discardableResult public func addHandler<P: Sendable, Owner: AnyObject & Sendable>(
    forAll type: P.Type, named name: String? = nil, on delivery: MainDelivery, priority: Int = 0,
    once: Bool = false, owner: Owner, fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @MainActor @Sendable (Owner, P) async throws -> Void
  ) -> HandlerToken {
    return addEverywhere(name, priority, once, owner, SourceLine(fileID, line), on: delivery.place) { handler in
      Handler<P>(
        delivery.place,
        .mainAsync { arguments in
          defer { withExtendedLifetime(handler) {} }
          try await body(arguments.owner(), arguments.payload.payload())
        })
    }
  }

  /// Forwards the payloads of a type from all other events of the bus to one of its events, and
  /// from each event that is made later.
  func forwardAll<P: Sendable>(to target: Event<P>) {
    add(
      BusHandler(on: self, nil, isOnce: false, nil, .none, isForward: true) { handler, event in
        // The target forwards nothing to itself: no occurrence reaches an event twice.
        event.source(of: P.self, for: handler).forward(to: target)
      })
  }

  /// Adds a handler to all events of the bus, and to each event that is made later.
  ///
  /// - Parameters:
  ///   - source: The place in the source where the handler is made.
  ///   - place: The place where the handler runs, if only that place may release the owner.
  ///   - make: A closure that makes the handler for one event. The closure of that handler retains
  ///     the bus handler, so that a call which waits on a lane of a finished event is still
  ///     claimed.
  private func addEverywhere<P: Sendable>(
    _ name: String?, _ priority: Int, _ once: Bool, _ owner: (any AnyObject & Sendable)?,
    _ source: SourceLine, on place: ExecutionPlace? = nil, _ make: @escaping @Sendable (BusHandler) -> Handler<P>
  ) -> HandlerToken {
    let owner = owner.map { Eventing.Owner($0, on: place) }
    let handler = BusHandler(on: self, name, isOnce: once, owner, source) { handler, event in
      var member = make(handler).made(at: source)
      member.options.sharedClaim = handler.sharedClaim(in: event)
      return event.source(of: P.self, for: handler).attach(member, name, priority, once, owner)
    }
    add(handler)
    return handler.token
  }
}
