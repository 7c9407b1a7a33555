// Handlers in all events of a bus that are called with every payload of a type.

extension EventBus {
  /// Returns a source of every payload of a type, whatever event of the bus it is sent through.
  ///
  ///     bus.all(as: (any Auditable).self).addHandler { entry in print(entry) }
  ///
  /// The type may be that of a protocol that refines `Sendable`, of a class, or of one payload. A
  /// handler is called with each payload that `as?` can cast to the type. It is a handler of each
  /// event of the bus, found by type or by owner, and of each event that is made later:
  ///
  /// - Each event counts the handler as one of its own, in reports, failures and snapshots, with a
  ///   token of that event. A payload of another type counts as skipped.
  /// - There is one order for each event, and none over several events. Inline calls, and calls of
  ///   ``AsyncDelivery/task`` and ``AsyncDelivery/concurrent(limit:)``, may overlap for different
  ///   events. Anywhere else one call runs at a time, in all events together.
  /// - The token that adding returns names the handler in all events: ``remove(_:)`` and
  ///   ``HandlerBag`` end the handler in all events. A method of one event, such as
  ///   ``HandlerRegistry/removeAll(where:)``, ends the handler in that event only. An event that is
  ///   removed from the bus loses the handler.
  /// - A once handler is called once in all events together, even if several threads send. It is
  ///   not tried again.
  /// - ``finish()`` ends the handler, after the calls for what was sent before.
  /// - Of several handlers that are added together, each is added on its own.
  /// - A pace, a bound, an order by key, batches, the call that a new one cancels, and what
  ///   `removeDuplicates` compares hold in each event on its own. While a call that is isolated to
  ///   an actor awaits, a call for another event may begin.
  /// - A sequence never makes a sender wait: with ``Buffering/suspendingSender(_:)``, what finds no
  ///   room is dropped.
  ///
  /// Every payload that is sent after a handler was added reaches the handler. Callable from any
  /// thread, and inside any handler. A bus without such handlers does no work for them. The source
  /// retains the bus.
  ///
  /// - Parameter type: The type to which payloads are cast.
  /// - Returns: The source. Adding a handler costs O(*n* log *n*) for *n* events of the bus. Each
  ///   occurrence of any event then costs a cast, and takes the event's slow path.
  public func all<P: Sendable>(as type: P.Type) -> some EventSource<P> { AllPayloads(bus: self) }

  func forwardAll<P: Sendable>(to target: Event<P>) {
    add(
      BusHandler(on: self, HandlerOptions(), isOnce: false, .none, isForward: true) { handler, event in
        // The target forwards nothing to itself: no occurrence reaches an event twice.
        event.source(of: P.self, for: handler).forward(to: target)
      })
  }
}

private struct AllPayloads<Payload: Sendable>: EventSource {
  let bus: EventBus

  func add(contentsOf handlers: [Handler<Payload>]) -> [HandlerToken] { handlers.map(add) }

  func add(_ handler: Handler<Payload>) -> HandlerToken {
    if case .sequence(let hub) = handler.any.body { return add(handler, of: hub) }
    let busHandler = BusHandler(
      on: bus, handler.options, isOnce: handler.isOnce, handler.any.source
    ) { [member = handler.inSeveralEvents] busHandler, event in
      var member = member
      member.options.sharedClaim = busHandler.sharedClaim(in: event)
      return event.source(of: Payload.self, for: busHandler).add(member)
    }
    bus.add(busHandler)
    return busHandler.token
  }

  /// A sequence's hub belongs to one event: here a private one, which takes over the occurrences of
  /// all events.
  private func add(_ handler: Handler<Payload>, of hub: SequenceHub) -> HandlerToken {
    let gathered = Event<Payload>(untold: nil)
    unsafe hub.neverSuspends = true
    let token = gathered.add(handler)
    var passing = Handler<Payload>(
      .inline,
      .relay { record, anchor in
        TransformedHandler(target: nil) { payload, _, delivery in
          gathered.core.takeOver(payload, from: record, anchor, &delivery)
        }
      }, [], handler.any.source, owner: hub)
    passing.options.name = handler.options.name
    _ = add(passing)
    return token
  }

  func remove(_ token: HandlerToken) -> Bool { bus.remove(token) }
}

extension Handler {
  fileprivate var inSeveralEvents: Handler {
    var copy = self
    copy.any.place = any.place.inSeveralEvents
    return copy
  }
}
