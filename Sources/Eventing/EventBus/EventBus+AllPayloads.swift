// Handlers in all events of a bus, which are called with every payload of a type.

extension EventBus {
  /// Returns a source of every payload of a type, no matter which event of the bus it's sent
  /// through.
  ///
  ///     bus.all(as: (any Auditable).self).addHandler { entry in print(entry) }
  ///
  /// The type may be a protocol that refines `Sendable`, a class, or a single payload type. A
  /// handler is called with each payload that `as?` can cast to the type. It's added to each event
  /// of the bus, whether found by type or by owner, and to each event created later:
  ///
  /// - Each event counts the handler as its own in reports, failures and snapshots, with a token of
  ///   that event. A payload of another type counts as skipped.
  /// - Each event has its own order, and there is none across events. Inline calls, and calls with
  ///   ``AsyncDelivery/task`` and ``AsyncDelivery/concurrent(limit:)``, may overlap for different
  ///   events. Anywhere else, one call runs at a time across all events.
  /// - The token returned when you add the handler identifies it in all events: ``remove(_:)`` and
  ///   ``HandlerBag`` end the handler in all of them. A method of a single event, such as
  ///   ``HandlerRegistry/removeAll(where:)``, ends the handler in that event only. An event that is
  ///   removed from the bus loses the handler.
  /// - A once handler is called once across all events, even if several threads send. It isn't
  ///   retried.
  /// - ``finish()`` ends the handler after the calls for everything sent before.
  /// - Handlers added together are added one by one.
  /// - A pace, a bound, an order by key, batches, the cancellation of a previous call, and the
  ///   comparison of `removeDuplicates` apply to each event separately. While a call that is
  ///   isolated to an actor awaits, a call for another event may begin.
  /// - A sequence never makes a sender wait: with ``Buffering/suspendingSender(_:)``, payloads that
  ///   find no room are dropped.
  ///
  /// Every payload sent after a handler was added reaches the handler. Callable from any thread and
  /// inside any handler. A bus without such handlers does no work for them. The source retains the
  /// bus.
  ///
  /// - Parameter type: The type to which payloads are cast.
  /// - Returns: The source. Adding a handler costs O(*n* log *n*) for *n* events of the bus. Each
  ///   occurrence of any event then costs a cast, and takes the event's slow path.
  public func all<P: Sendable>(as type: P.Type) -> some EventSource<P> { AllPayloads(bus: self) }

  func forwardAll<P: Sendable>(to target: Event<P>) {
    add(
      BusHandler(on: self, HandlerOptions(), isOnce: false, .none, isForward: true) { handler, event in
        // The target never forwards to itself, because no occurrence reaches an event twice.
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
    ) { [place = handler.any.place.inSeveralEvents] busHandler, event in
      var member = handler
      member.any.place = place
      member.options.sharedClaim = busHandler.sharedClaim(in: event)
      return event.source(of: Payload.self, for: busHandler).add(member)
    }
    bus.add(busHandler)
    return busHandler.token
  }

  /// A sequence's hub belongs to one event, here a private one that takes over the occurrences of
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
