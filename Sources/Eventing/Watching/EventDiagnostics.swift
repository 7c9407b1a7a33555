/// Finds handlers that are slow, and events with too many handlers: usually ones that somebody forgot to remove.
///
///     EventDiagnostics(slowerThan: .milliseconds(100), moreHandlersThan: 100) { finding in log(finding) }
///       .observeNewEvents()                                  // when the program starts; or event.observe(with:) for one event
public final class EventDiagnostics: EventObserver, @unchecked Sendable {
  /// What was found.
  public enum Finding: Sendable {
    /// A call took longer than the limit. `handler` is its name, or else its number.
    case slowHandler(String, event: String?, took: Duration, limit: Duration)
    /// An event has more handlers than the limit: how many of each name, the most first; those without a name come under `nil`. Told again each time that the number has doubled.
    case manyHandlers(event: String?, count: Int, limit: Int, names: [(name: String?, count: Int)])
  }

  private let slowest: Duration?
  private let most: Int?
  private let report: @Sendable (Finding) -> Void
  private let lock = Lock()
  // Safe: guarded by `lock`.
  /// Of each event that is observed.
  @exclusivity(unchecked) private var handlers: [ObjectIdentifier: Handlers] = [:]

  private struct Handlers {
    let event: String?
    /// What is at that address: another one there is another event.
    weak var home: Home?
    var names: [UInt64: String?] = [:]
    /// How many are too many: doubled each time.
    var limit: Int
  }

  /// - Parameters:
  ///   - slowest: how long a call may take; nil for any length. An asynchronous call's suspensions count.
  ///   - most: how many handlers one event may have; nil for any number.
  ///   - report: is told, where it is found; see ``EventObserver``.
  public init(slowerThan slowest: Duration? = nil, moreHandlersThan most: Int? = nil, _ report: @escaping @Sendable (Finding) -> Void) {
    self.slowest = slowest
    self.most = most
    self.report = report
  }

  /// Notes its name.
  public func added(_ handler: HandlerToken, event: String?) {
    let finding = lock.withLock { () -> Finding? in
      let id = ObjectIdentifier(handler.home)
      var known = Handlers(event: event, home: handler.home, limit: max(0, most ?? .max))
      if let before = unsafe handlers[id], before.home === handler.home { known = before }
      known.names[handler.id] = .some(handler.name)
      defer { unsafe handlers[id] = known }
      guard let most, known.names.count > known.limit else { return nil }
      known.limit = max(1, known.limit) * 2
      let counts = Dictionary(grouping: known.names.values, by: \.self).map { (name: $0.key, count: $0.value.count) }
      let sorted = counts.sorted { $0.count != $1.count ? $0.count > $1.count : ($0.name ?? "") < ($1.name ?? "") }
      return .manyHandlers(event: event, count: known.names.count, limit: most, names: sorted)
    }
    if let finding { report(finding) }
  }

  /// Forgets its name.
  public func removed(_ handler: HandlerToken) {
    let id = ObjectIdentifier(handler.home)
    lock.withLock {
      unsafe handlers[id]?.names[handler.id] = nil
      if unsafe handlers[id]?.names.isEmpty == true { unsafe handlers[id] = nil }
    }
  }

  /// Some observation has ended: forgets the events that are gone.
  func forgetOthers() { lock.withLock { unsafe handlers = handlers.filter { $0.value.home?.mailbox != nil } } }

  /// Looks how long it took.
  public func ended(_ handler: HandlerToken, sequence: UInt64, duration: Duration, error: (any Error)?) {
    guard let slowest, duration > slowest else { return }
    let event = lock.withLock { unsafe handlers[ObjectIdentifier(handler.home)]?.event }
    report(.slowHandler(handler.name ?? handler.description, event: event ?? nil, took: duration, limit: slowest))
  }
}

extension EventDiagnostics.Finding: CustomStringConvertible {
  /// In one line.
  public var description: String {
    switch self {
    case .slowHandler(let handler, let event, let took, let limit):
      "\(handler) of \(event ?? "an event") took \(took), more than \(limit)"
    case .manyHandlers(let event, let count, let limit, let names):
      "\(event ?? "an event") has \(count) handlers, more than \(limit): "
        + names.map { "\($0.count) \($0.name.map { "\"\($0)\"" } ?? "without a name")" }.joined(separator: ", ")
    }
  }
}
