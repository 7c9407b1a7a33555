extension Observed {
  /// Returns a view of this value and another one: the current pair, and then a pair for each
  /// change.
  ///
  ///     first.combineLatest(last).addHandler { first, last in print(first, last) }
  ///
  /// - **Order.** The sets of both values, by any threads, form a single order, and each makes one
  ///   pair. A pair has both values as they were between two of these sets, so a handler receives
  ///   no pair that never existed.
  /// - **Begin.** A handler receives the current pair when it is added, and then a pair for each
  ///   later change, without a gap.
  /// - **Delivery.** Handlers are called like those of an ``Observed`` value: if the combination is
  ///   idle, inline handlers have returned by the time the setter does. A handler may set either
  ///   value. The resulting pair is delivered after the current one has reached every handler.
  /// - **Failures.** An error that a handler throws doesn't stop other handlers. Only observers are
  ///   notified of it: see ``EventObserver/observeNewEvents()``.
  /// - **End.** When one of the values ends, the handlers and sequences of the combination end. The
  ///   view keeps the values alive; a handler added through it doesn't.
  ///
  /// Handlers of a combination aren't handlers of its values: methods such as
  /// ``HandlerRegistry/removeAll(where:)`` don't reach them. Remove one by its token, with
  /// ``HandlerToken/remove()`` or through any combination of these values in the same order. There
  /// is no common order of the handlers of the combination and those of the values.
  /// ``HandlerRegistry/quiesce()`` of a value waits for both. Errors of the combination's handlers
  /// are in the ``Observed/failures`` of this value.
  ///
  /// A value takes longer to set while it is part of a combination with handlers or sequences.
  ///
  /// - Parameter other: The second value of each pair.
  /// - Returns: A view of the pairs.
  /// - Complexity: O(1). Setting a value then also costs O(combinations), plus the cost of their
  ///   handlers.
  public func combineLatest<Other: Sendable>(_ other: Observed<Other>) -> some EventSource<(Value, Other)> {
    CombinedSource(first: storage, second: other.storage, third: Observed<Void>.Storage?.none) { values in
      guard let first = values.first, let second = values.second else { return nil }
      return (first, second)
    }
  }

  /// Returns a view of this value and two others. Otherwise like ``combineLatest(_:)``.
  ///
  /// - Parameters:
  ///   - second: The second value of each triple.
  ///   - third: The third value of each triple.
  /// - Returns: A view of the triples.
  public func combineLatest<Second: Sendable, Third: Sendable>(
    _ second: Observed<Second>, _ third: Observed<Third>
  ) -> some EventSource<(Value, Second, Third)> {
    CombinedSource(first: storage, second: second.storage, third: third.storage) { values in
      guard let first = values.first, let second = values.second, let third = values.third else { return nil }
      return (first, second, third)
    }
  }
}

struct CombinedSource<First: Sendable, Second: Sendable, Third: Sendable, Payload: Sendable>: EventSource {
  let first: Observed<First>.Storage
  let second: Observed<Second>.Storage
  let third: Observed<Third>.Storage?
  let combine: @Sendable (LatestValues<First, Second, Third>) -> Payload?

  func add(contentsOf handlers: [Handler<Payload>]) -> [HandlerToken] {
    let (combination, use) = join()
    return combination.event.add(contentsOf: handlers.map { combined($0, use) })
  }

  func add(_ handler: Handler<Payload>) -> HandlerToken { add(contentsOf: [handler])[0] }

  func remove(_ token: HandlerToken) -> Bool {
    guard let combination = first.combination(of: key, isUsed: false) as? Combination<First, Second, Third> else {
      return false
    }
    return combination.event.remove(token)
  }

  private var key: [ObjectIdentifier] {
    [ObjectIdentifier(first), ObjectIdentifier(second)] + (third.map { [ObjectIdentifier($0)] } ?? [])
  }

  private func combined(_ handler: Handler<Payload>, _ use: CombinationUse) -> Handler<
    LatestValues<First, Second, Third>
  > {
    handler.viewed { [combine] values in
      _ = use  // retained by the closure
      return combine(values)
    }
  }

  /// All changes made before the call have been enqueued on return, so a handler added afterwards
  /// begins with the values as they left them.
  private func join() -> (Combination<First, Second, Third>, CombinationUse) {
    let found =
      first.combination(of: key, isUsed: true)
      ?? first.enlist(Combination(first, second, third, key).firstMembership, isFirst: true)
    guard let combination = found as? Combination<First, Second, Third> else {
      preconditionFailure("a key stands for values of certain types")
    }
    let use = CombinationUse(combination)
    // Another thread may have created the combination but not yet added it to the other values.
    combination.enlistOthers(second, third)
    _ = combination.collect()
    return (combination, use)
  }

}

extension EventSource {
  /// Returns a view that combines the latest payloads of this source and of others: a tuple for
  /// each new payload, once every source has had one.
  ///
  ///     orders.combineLatest(prices, $currency).addHandler { order, price, currency in … }
  ///
  /// - **Order.** The payloads of all sources pass in a single order, which preserves the order of
  ///   each source, and each payload makes one tuple. Two or three ``Observed`` values have their
  ///   own method, which never makes a tuple of values that didn't exist at the same time.
  /// - **Begin.** A handler begins without payloads, or with whatever the sources give a new
  ///   handler first, such as the value of an ``Observed``. Handlers that are added together share
  ///   one set of latest payloads.
  /// - **Reports.** A send to one of the sources waits for the handler and counts it as a forward,
  ///   delivered once the payload has been passed on. The handler's errors aren't in the report. They
  ///   are in ``Event/failures`` of this source, or of the event that it is a view of. They make no
  ///   dead letters.
  /// - **End.** A handler ends when all of the sources have ended. Its token removes it from all of
  ///   them. The view keeps the sources alive; a handler added through it doesn't.
  ///
  /// - Parameters:
  ///   - other: The second source.
  ///   - more: Further sources.
  /// - Returns: A view of the tuples.
  /// - Complexity: O(1). Adding a handler adds one to each source. Making a tuple is O(sources).
  public nonisolated func combineLatest<Other: Sendable, each More: Sendable>(
    _ other: any EventSource<Other>, _ more: repeat any EventSource<each More>
  ) -> some EventSource<(Payload, Other, repeat each More)> {
    LatestSource<Payload, Other, repeat each More>(sources: (self, other, repeat each more))
  }
}

/// Each source forwards to a private event, whose order is that of the tuples. A second private
/// event has the handlers, so that locking one doesn't make it miss payloads.
struct LatestSource<each Part: Sendable>: EventSource {
  typealias Payload = (repeat each Part)

  let sources: (repeat any EventSource<each Part>)
  private let joined = JoinedEvents()

  init(sources: (repeat any EventSource<each Part>)) { self.sources = sources }

  func add(_ handler: Handler<Payload>) -> HandlerToken { add(contentsOf: [handler])[0] }

  func add(contentsOf handlers: [Handler<Payload>]) -> [HandlerToken] {
    let (parts, tuples) = (Event<LatestPart>(untold: nil), Event<Payload>(untold: nil))
    let latest = Guarded<[Int: any Sendable]>([:])
    parts.compactMap { part in
      let (known, old) = latest.withLock { latest in
        let old = latest.updateValue(part.latest, forKey: part.index)
        return (latest, old)
      }
      withExtendedLifetime(old) {}  // released after the mutex
      return LatestSource.tuple(known)
    }.forward(to: tuples, strongly: true, isJoined: true)
    return joined.add(handlers, to: tuples) { [sources] in
      var tokens: [HandlerToken] = []
      func begin<P: Sendable>(_ source: any EventSource<P>) {
        let index = tokens.count
        tokens.append(
          source.map { LatestPart(index: index, latest: Latest(payload: $0)) }.forward(
            to: parts, strongly: true, isJoined: true))
      }
      repeat begin(each sources)
      return tokens
    }
  }

  func remove(_ token: HandlerToken) -> Bool { joined.remove(token) }

  private static func tuple(_ latest: [Int: any Sendable]) -> Payload? {
    var index = -1
    func part<P: Sendable>(_: P.Type) -> Latest<P>? {
      index += 1
      return latest[index] as? Latest<P>
    }
    func payload<P>(_ part: Latest<P>?) -> P {
      guard let part else { preconditionFailure("a tuple has all parts") }
      return part.payload
    }
    let parts = (repeat part((each Part).self))
    for isMissing in repeat (each parts) == nil { if isMissing { return nil } }
    return (repeat payload(each parts))
  }
}

private struct LatestPart: Sendable {
  let index: Int
  let latest: any Sendable
}

/// A plain cast would mistake an optional payload that is `nil` for a missing one.
private struct Latest<Payload: Sendable>: Sendable {
  let payload: Payload
}
