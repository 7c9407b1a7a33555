/// An observer that reports slow handlers, and events with too many handlers.
///
/// Too many handlers usually means that some were never removed.
///
///     EventDiagnostics(slowerThan: .milliseconds(100), moreHandlersThan: 100) { finding in
///       log(finding)
///     }.observeNewEvents()    // when the program starts; or event.observe(with:) for one event
///
/// One instance can observe any number of events, from any threads.
// Safe: each field that changes says what guards it.
public final class EventDiagnostics: EventObserver, @unchecked Sendable {
  /// The longest duration of a call that is not reported.
  private let slowest: Duration?
  /// The largest number of handlers that is not reported.
  private let most: Int?
  private let report: @Sendable (Finding) -> Void
  private let mutex = UnfairMutex()
  /// The handlers of each observed event. Guarded by: mutex.
  @exclusivity(unchecked) private var handlers: [ObjectIdentifier: Handlers] = [:]

  /// The number of observed events after the last search for events that are gone.
  /// Guarded by: mutex.
  @exclusivity(unchecked) private var living = 0

  /// The handlers of one event.
  private struct Handlers {
    /// The name of the event.
    let event: String?
    /// The anchor of the event. It is retained, so that no other event can have its address.
    let anchor: EventAnchor
    /// The names of the handlers, by the ids of their tokens.
    var names: [UInt64: String?] = [:]
    /// The number of handlers above which the event is reported. It doubles with each report.
    var limit: Int

    /// Notes a handler. Returns the names of all handlers if there are too many now.
    mutating func note(_ handler: UInt64, _ name: String?) -> [String?]? {
      names[handler] = .some(name)
      guard names.count > limit else { return nil }
      limit = max(1, limit) * 2
      return Array(names.values)
    }
  }

  /// Creates an observer. Pass it to ``Event/observe(with:)``, or call
  /// ``EventObserver/observeNewEvents()``.
  ///
  /// - Parameters:
  ///   - slowest: The longest duration of a call that is not reported; `nil` reports none. For an
  ///     asynchronous handler, suspensions count.
  ///   - most: The largest number of handlers of one event that is not reported; `nil` reports
  ///     none. A number below 0 counts as 0. An event is reported again each time that its number
  ///     of handlers has doubled.
  ///   - report: A closure that receives each finding. It runs on the thread that delivers, or on
  ///     the handler's lane, with no mutex held.
  public init(
    slowerThan slowest: Duration? = nil, moreHandlersThan most: Int? = nil,
    _ report: @escaping @Sendable (Finding) -> Void
  ) {
    self.slowest = slowest
    self.most = most
    self.report = report
  }

  /// Notes the name of the handler, and reports the event if it has too many handlers.
  public func added(_ handler: HandlerToken, event: String?) {
    let (id, name) = (ObjectIdentifier(handler.anchor), handler.name)
    // Changed in place: if each handler copied the dictionary, *n* handlers would cost O(*n*²).
    let tooMany = mutex.withLock { () -> [String?]? in
      unsafe handlers[id, default: Handlers(event: event, anchor: handler.anchor, limit: max(0, most ?? .max))]
        .note(handler.id, name)
    }
    guard let most, let names = tooMany else { return }
    let counts = Dictionary(grouping: names, by: \.self).map { (name: $0.key, count: $0.value.count) }
    let sorted = counts.sorted { $0.count != $1.count ? $0.count > $1.count : ($0.name ?? "") < ($1.name ?? "") }
    report(Finding(.manyHandlers, event: event, handlerCount: names.count, limit: .count(most), names: sorted))
  }

  /// Removes the name of the handler.
  public func removed(_ handler: HandlerToken) {
    let id = ObjectIdentifier(handler.anchor)
    let gone = mutex.withLock { () -> Handlers? in
      unsafe handlers[id]?.names[handler.id] = nil
      guard unsafe handlers[id]?.names.isEmpty == true else { return nil }
      defer { unsafe living = unsafe min(living, handlers.count) }
      return unsafe handlers.removeValue(forKey: id)
    }
    withExtendedLifetime(gone) {}  // released after the mutex: it may be the last reference to the anchor
  }

  /// Removes events that are gone. Called when an observation has ended, after which its observer
  /// is not called any more.
  ///
  /// Searches only if the number of events has doubled since the last search. So each end costs
  /// O(1), amortized.
  func forgetOthers() {
    // The cores are read after the critical section: a strong reference may be the last one a
    // moment later.
    let identities = mutex.withLock { () -> [EventAnchor] in
      guard unsafe handlers.count > 2 * living else { return [] }
      return unsafe handlers.values.map(\.anchor)
    }
    guard !identities.isEmpty else { return }
    let ended = identities.filter { $0.core == nil }
    let gone = mutex.withLock { () -> [Handlers] in
      defer { unsafe living = handlers.count }
      return ended.compactMap { unsafe handlers.removeValue(forKey: ObjectIdentifier($0)) }
    }
    withExtendedLifetime(gone) {}
  }

  /// Reports the handler if its call took longer than the limit.
  public func ended(_ handler: HandlerToken, sequence: UInt64, duration: Duration, error: (any Error)?) {
    guard let slowest, duration > slowest else { return }
    let event = mutex.withLock { unsafe handlers[ObjectIdentifier(handler.anchor)]?.event }
    report(Finding(.slowHandler, event: event ?? nil, handler: handler, duration: duration, limit: .duration(slowest)))
  }
}
