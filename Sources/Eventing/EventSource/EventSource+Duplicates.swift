import Synchronization

extension EventSource where Payload: Equatable {
  /// Returns a view whose handlers are called only if a payload differs from the previous one.
  ///
  ///     volume.removeDuplicates().addHandler { volume in print(volume) }
  ///
  /// The view compares a payload with the last one that the handler was called with or that its
  /// lane has accepted, so the first payload always reaches the handler. A payload counts as the last
  /// one even if the handler throws. A payload that the view filters out counts as skipped and
  /// doesn't use up a once handler.
  ///
  /// If a lock, a removal or a filter behind this view keeps a payload from the handler, the view
  /// doesn't remember that payload. If a lane skips or drops payloads that it has taken, the next
  /// payload always reaches the lane, even if it equals the previous one.
  ///
  /// For a remote event, the view doesn't remember a payload that was handed back to the engine
  /// because a handler failed, dropped it or was locked. A message redelivered after a failure
  /// reaches the handler, no matter what came before it.
  ///
  /// Payloads are compared where the event delivers, one at a time and in order, with no mutex
  /// held.
  ///
  /// - Complexity: One comparison and one copy per payload.
  public nonisolated func removeDuplicates() -> some EventSource<Payload> { removeDuplicates(by: ==) }
}

extension EventSource {
  /// Returns a view whose handlers are called only if a payload differs from the previous one
  /// according to a closure. Otherwise like ``removeDuplicates()``.
  ///
  /// - Parameter areEqual: Returns whether the second payload is a duplicate of the first.
  public nonisolated func removeDuplicates(
    by areEqual: @escaping @Sendable (Payload, Payload) -> Bool
  ) -> some EventSource<Payload> {
    DistinctSource(base: self, areEqual: areEqual)
  }
}

struct DistinctSource<Base: EventSource>: ViewSource {
  typealias Payload = Base.Payload

  let base: Base
  let areEqual: @Sendable (Base.Payload, Base.Payload) -> Bool

  func converted(_ handler: Handler<Base.Payload>) -> Handler<Base.Payload> {
    let (body, type) = (handler.any.body, handler.any.type)
    let (modifiers, last) = (handler.options.modifierBox?.modifiers, Guarded<LastPayload<Payload>?>(nil))
    // Not built with `viewed`, because a view's closure can't see the transport that brought the
    // payload.
    var distinct = handler
    distinct.any.body = .relay { [areEqual] record, anchor in
      let route = HandlerRoute(body, type, record, anchor, modifiers)
      let lane = route.target
      return TransformedHandler(target: lane) { incoming, owner, delivery in
        let (payload, losses) = (incoming.payload(Payload.self), lane?.counters.losses ?? 0)
        let account = delivery.completion?.account
        // Compared outside the mutex, because `==` is user code. No two threads compare at once,
        // because the core lets one thread in at a time.
        if account?.isRepeated != true, let last = last.withLock({ $0 }), last.isKnown(losses),
          areEqual(last.payload, payload)
        {
          delivery.noteLeftOut()
          return false
        }
        guard route.deliver(incoming, owner, record, anchor, &delivery) else { return false }
        let fate = account.map { _ in OccurrenceFate() }
        if let fate { account?.tell(fate) }
        var replaced: LastPayload<Payload>? = LastPayload(payload: payload, losses: losses, fate: fate)
        last.withLock { swap(&$0, &replaced) }
        withExtendedLifetime(replaced) {}  // released outside the mutex
        return true
      }
    }
    return distinct
  }
}

private struct LastPayload<Payload: Sendable>: Sendable {
  let payload: Payload
  let losses: Int
  let fate: OccurrenceFate?

  /// False if `losses` has changed, because the lane may have lost this payload, or if the transport
  /// took this payload back unhandled.
  func isKnown(_ losses: Int) -> Bool {
    self.losses == losses && fate?.isHandedBack.load(ordering: .acquiring) != true
  }
}

extension DeliveryTarget {
  fileprivate var losses: Int { skipped.load(ordering: .acquiring) &+ dropped.load(ordering: .acquiring) }
}
