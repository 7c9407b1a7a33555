/// Finds handlers that are slow, and events with too many handlers: usually ones that somebody forgot to remove.
///
///     EventDiagnostics(slowerThan: .milliseconds(100), moreHandlersThan: 100) { finding in log(finding) }
///       .observeNewEvents()                                  // when the program starts; or event.observe(with:) for one event
public final class EventDiagnostics: EventObserver, @unchecked Sendable {
  private let slowest: Duration?
  private let most: Int?
  private let report: @Sendable (Finding) -> Void
  private let mutex = UnfairMutex()
  // Safe: guarded by `mutex`.
  /// Of each event that is observed.
  @exclusivity(unchecked) private var handlers: [ObjectIdentifier: Handlers] = [:]

  /// How many events were known after the last look at which of them are gone. Guarded by `mutex`.
  @exclusivity(unchecked) private var living = 0

  private struct Handlers {
    let event: String?
    /// Names the event. HeldOccurrence, so that no other event comes to be at its address.
    let identity: EventIdentity
    var names: [UInt64: String?] = [:]
    /// How many are too many: doubled each time.
    var limit: Int

    /// Notes a handler, and returns all names if there are too many handlers by now.
    mutating func note(_ handler: UInt64, _ name: String?) -> [String?]? {
      names[handler] = .some(name)
      guard names.count > limit else { return nil }
      limit = max(1, limit) * 2
      return Array(names.values)
    }
  }

  /// - Parameters:
  ///   - slowest: how long a call may take; nil for any length. An asynchronous call's suspensions count.
  ///   - most: how many handlers one event may have; nil for any number.
  ///   - report: is told, where it is found; see ``EventObserver``.
  public init(
    slowerThan slowest: Duration? = nil, moreHandlersThan most: Int? = nil,
    _ report: @escaping @Sendable (Finding) -> Void
  ) {
    self.slowest = slowest
    self.most = most
    self.report = report
  }

  /// Notes its name.
  public func added(_ handler: HandlerToken, event: String?) {
    let (id, name) = (ObjectIdentifier(handler.identity), handler.name)
    // Changed in place: a copy for each handler would make n handlers cost n * n.
    let tooMany = mutex.withLock { () -> [String?]? in
      unsafe handlers[id, default: Handlers(event: event, identity: handler.identity, limit: max(0, most ?? .max))]
        .note(handler.id, name)
    }
    guard let most, let names = tooMany else { return }
    let counts = Dictionary(grouping: names, by: \.self).map { (name: $0.key, count: $0.value.count) }
    let sorted = counts.sorted { $0.count != $1.count ? $0.count > $1.count : ($0.name ?? "") < ($1.name ?? "") }
    report(Finding(.manyHandlers, event: event, handlerCount: names.count, limit: .count(most), names: sorted))
  }

  /// Forgets its name.
  public func removed(_ handler: HandlerToken) {
    let id = ObjectIdentifier(handler.identity)
    let gone = mutex.withLock { () -> Handlers? in
      unsafe handlers[id]?.names[handler.id] = nil
      guard unsafe handlers[id]?.names.isEmpty == true else { return nil }
      defer { unsafe living = unsafe min(living, handlers.count) }
      return unsafe handlers.removeValue(forKey: id)
    }
    withExtendedLifetime(gone) {}  // released outside of the lock: the identity may go with it
  }

  /// Forgets events that are gone, when some observation has ended: of those nothing more is told.
  ///
  /// Looks only when there are twice as many events as the last look left, so that each end costs O(1), amortized.
  func forgetOthers() {
    // Whether an event is there is asked outside of the lock: the answer may hold the last reference to it.
    let identities = mutex.withLock { () -> [EventIdentity] in
      guard unsafe handlers.count > 2 * living else { return [] }
      return unsafe handlers.values.map(\.identity)
    }
    guard !identities.isEmpty else { return }
    let ended = identities.filter { $0.core == nil }
    let gone = mutex.withLock { () -> [Handlers] in
      defer { unsafe living = handlers.count }
      return ended.compactMap { unsafe handlers.removeValue(forKey: ObjectIdentifier($0)) }
    }
    withExtendedLifetime(gone) {}
  }

  /// Looks how long it took.
  public func ended(_ handler: HandlerToken, sequence: UInt64, duration: Duration, error: (any Error)?) {
    guard let slowest, duration > slowest else { return }
    let event = mutex.withLock { unsafe handlers[ObjectIdentifier(handler.identity)]?.event }
    report(Finding(.slowHandler, event: event ?? nil, handler: handler, duration: duration, limit: .duration(slowest)))
  }
}
