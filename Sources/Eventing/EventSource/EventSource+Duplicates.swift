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
    let (inner, last) = (handler.any, LastPayload<Base.Payload>(areEqual))
    let (body, type, modifiers) = (inner.body, inner.type, inner.options.modifierBox?.modifiers)
    // Not built with `viewed`, because a view's closure can't see the transport that brought the
    // payload.
    var distinct = Handler<Base.Payload>(
      inner.place,
      .relay { record, anchor in
        let route = HandlerRoute(body, type, record, anchor, modifiers)
        let lane = route.target
        return TransformedHandler(target: lane) { incoming, owner, delivery in
          let (payload, losses) = (incoming.payload(Base.Payload.self), lane?.counters.losses ?? 0)
          let account = delivery.completion?.account
          if account?.isRepeated != true, last.isEqual(to: payload, losses) {
            delivery.noteLeftOut()
            return false
          }
          guard route.deliver(incoming, owner, record, anchor, &delivery) else { return false }
          last.set(payload, losses, account?.makeFate())
          return true
        }
      })
    distinct.options = inner.options
    distinct.isOnce = inner.isOnce
    distinct.any.source = inner.source
    return distinct
  }
}

/// Payloads are compared outside the mutex, because `==` is user code. No two threads compare at
/// once, because the core lets one thread in at a time.
private final class LastPayload<Payload: Sendable>: Sendable {
  private let areEqual: @Sendable (Payload, Payload) -> Bool
  private let last = Guarded<Remembered?>(nil)

  private struct Remembered: Sendable {
    let payload: Payload
    let losses: Int
    let fate: OccurrenceFate?
  }

  init(_ areEqual: @escaping @Sendable (Payload, Payload) -> Bool) { self.areEqual = areEqual }

  /// Returns whether `payload` duplicates the last one. Never true if `losses` has changed, because
  /// the lane may have lost the last payload, or if the transport took that payload back unhandled.
  func isEqual(to payload: Payload, _ losses: Int) -> Bool {
    guard let last = last.withLock({ $0 }), last.losses == losses,
      last.fate?.isHandedBack.load(ordering: .acquiring) != true
    else { return false }
    return areEqual(last.payload, payload)
  }

  func set(_ payload: Payload, _ losses: Int, _ fate: OccurrenceFate?) {
    var replaced: Remembered? = Remembered(payload: payload, losses: losses, fate: fate)
    last.withLock { swap(&$0, &replaced) }
    withExtendedLifetime(replaced) {}  // released outside the mutex
  }
}

extension DeliveryTarget {
  fileprivate var losses: Int { skipped.load(ordering: .acquiring) &+ dropped.load(ordering: .acquiring) }
}
