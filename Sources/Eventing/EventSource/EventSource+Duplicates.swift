extension EventSource where Payload: Equatable {
  /// Returns a view whose handlers are called if a payload differs from the one before it.
  ///
  ///     volume.values.removeDuplicates().addHandler { volume in print(volume) }
  ///
  /// Each handler compares with the last payload that it was called with, or refused by throwing:
  /// the first one always comes. A payload that the view leaves out counts as skipped, and uses up
  /// no once handler. A payload that comes while the handler, or the event, is locked is not
  /// remembered.
  ///
  /// Payloads are compared where the event delivers, one at a time and in order, under no mutex.
  ///
  /// - Complexity: One comparison and one copy for each payload.
  public nonisolated func removeDuplicates() -> some EventSource<Payload> { removeDuplicates(by: ==) }
}

extension EventSource {
  /// Returns a view whose handlers are called if a payload differs, by a rule of your own, from the
  /// one before it. Otherwise like ``removeDuplicates()``.
  ///
  /// - Parameter areEqual: Returns whether the second payload is a duplicate of the first.
  public nonisolated func removeDuplicates(
    by areEqual: @escaping @Sendable (Payload, Payload) -> Bool
  ) -> some EventSource<Payload> {
    DistinctSource(source: self, areEqual: areEqual)
  }
}

/// The payloads of a source that differ from the one before.
struct DistinctSource<Source: EventSource>: EventSource {
  let source: Source
  let areEqual: @Sendable (Source.Payload, Source.Payload) -> Bool

  func add(_ handlers: [Handler<Source.Payload>]) -> [HandlerToken] { source.add(handlers.map(distinct)) }
  func attach(_ handler: Handler<Source.Payload>) -> HandlerToken { source.attach(distinct(handler)) }
  func remove(_ token: HandlerToken) -> Bool { source.remove(token) }

  private func distinct(_ handler: Handler<Source.Payload>) -> Handler<Source.Payload> {
    let (last, areEqual) = (LastPayload<Source.Payload>(), areEqual)
    return handler.viewed { payload in
      // Compared outside of the mutex: `==` is the user's code. The core lets one thread in at a
      // time.
      if let before = last.value, areEqual(before, payload) { return nil }
      last.value = payload
      return payload
    }
  }
}

/// The payload that a handler was called with last.
// Safe: guarded by `mutex`.
private final class LastPayload<Payload: Sendable>: @unchecked Sendable {
  private let mutex = UnfairMutex()
  /// Guarded by: mutex.
  @exclusivity(unchecked) private var payload: Payload?

  var value: Payload? {
    get { mutex.withLock { unsafe payload } }
    set {
      var replaced = newValue
      mutex.withLock { unsafe swap(&payload, &replaced) }
      withExtendedLifetime(replaced) {}  // released outside of the mutex
    }
  }
}
