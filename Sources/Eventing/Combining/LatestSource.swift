extension EventSource {
  /// Returns a view of the latest payloads of this source and of others: a tuple for each payload,
  /// once each source has had one.
  ///
  ///     orders.combineLatest(prices, $currency).addHandler { order, price, currency in … }
  ///
  /// - **Order.** The payloads of all sources have one order, that of each source included. Each
  ///   makes one tuple. Two or three ``Observed`` values have a method of their own, which makes no
  ///   tuple of values that never existed together.
  /// - **Begin.** A handler begins without payloads, or with what the sources give a new handler
  ///   first, such as the value of an ``Observed``. Handlers that are added together share this.
  /// - **Reports.** A send to one of the sources waits for the handler, and counts it as a forward:
  ///   delivered when it has been passed on. Its errors are not in the report.
  /// - **End.** A handler ends when all of the sources have ended. Its token removes it from all of
  ///   them. The view keeps the sources alive; a handler that was added through it does not.
  ///
  /// - Parameters:
  ///   - other: The second source.
  ///   - more: Further sources.
  /// - Returns: A view of the tuples.
  /// - Complexity: O(1). Adding a handler adds one to each source. A tuple costs O(sources).
  public nonisolated func combineLatest<Other: Sendable, each More: Sendable>(
    _ other: any EventSource<Other>, _ more: repeat any EventSource<each More>
  ) -> some EventSource<(Payload, Other, repeat each More)> {
    LatestSource<Payload, Other, repeat each More>(sources: (self, other, repeat each more))
  }
}

/// Each source forwards to a private event, whose order is that of the tuples. A second private
/// event has the handlers, so that a locked one misses no payload.
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
    }.forward(to: tuples, strongly: true)
    return joined.add(handlers, to: tuples) { [sources] in
      var tokens: [HandlerToken] = []
      func begin<P: Sendable>(_ source: any EventSource<P>) {
        let index = tokens.count
        tokens.append(
          source.map { LatestPart(index: index, latest: Latest(payload: $0)) }.forward(to: parts, strongly: true))
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

/// A payload may be an optional, which a plain cast would take for no payload.
private struct Latest<Payload: Sendable>: Sendable {
  let payload: Payload
}
