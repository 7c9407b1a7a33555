public import CoreMetrics
public import Eventing
import Synchronization

/// An observer that counts and measures the calls of events and handlers.
///
///     let metrics = EventMetrics()
///     metrics.observeNewEvents()                  // or event.observe(with: metrics)
///
/// | metric | type | for each | |
/// | --- | --- | --- | --- |
/// | `eventing.occurrences` | counter | event | deliveries that began |
/// | `eventing.calls` | counter | event, handler, outcome | calls, and occurrences without a call |
/// | `eventing.call.duration` | timer | event, handler | the time of a call, with suspensions |
/// | `eventing.running` | meter | event, handler | running calls |
/// | `eventing.handlers` | meter | event | handlers |
/// | `eventing.waiting` | meter | event, handler | waiting occurrences: see ``sample(_:)`` |
///
/// A meter is a gauge that is incremented and decremented. The dimensions are `event`, `handler`
/// and `outcome`. An outcome is `delivered`, `failed`, `skipped`, `dropped` or `held`.
///
/// **Dimensions are bounded.** They are names of events and handlers, never payloads, keys, errors
/// or numbers. If an event has no name, its payload type is used. If a handler has no name, its
/// file and line are used. When the limit of names is reached, `other` replaces each further name.
///
/// One instance can observe any number of events. Any thread may call it.
public final class EventMetrics: EventObserver {
  private let factory: (any MetricsFactory)?
  private let names: BoundedNames
  private let all = Mutex<[SeriesKey: Series]>([:])
  private let backlogs = Mutex<[[String]: Meter]>([:])

  /// Creates an observer.
  ///
  /// - Parameters:
  ///   - factory: The factory of the metrics; `nil` for the one that the program has bootstrapped.
  ///   - limit: The largest number of names of events, and of names of handlers, in dimensions.
  public init(factory: (any MetricsFactory)? = nil, namesUpTo limit: Int = 500) {
    self.factory = factory
    names = BoundedNames(limit: limit)
  }

  // MARK: Steps

  /// Counts and measures a step.
  public func observe(_ step: EventStep) {
    let event = names.event(step.event)
    switch step.kind {
    case .accepted: series(event, nil).occurrences?.increment()
    case .added: series(event, nil).handlers?.increment()
    case .removed: series(event, nil).handlers?.decrement()
    default: if let handler = step.handler { count(step, series(event, names.handler(handler))) }
    }
  }

  /// Counts and measures what a handler does.
  private func count(_ step: EventStep, _ series: Series) {
    if let duration = step.duration {
      series.running?.decrement()
      series.duration?.recordNanoseconds(Int64(clamping: duration.attoseconds / 1_000_000_000))
    }
    switch step.kind {
    case .began: series.running?.increment()
    case .ended: series.count(step.error == nil ? .delivered : .failed)
    case .skipped: series.count(.skipped)
    case .dropped: series.count(.dropped)
    case .held: series.count(.held)
    case .left: series.running?.decrement()
    default: break
    }
  }

  // MARK: Samples

  /// Records the number of occurrences that wait on the lane of each handler of an event.
  ///
  /// Call this method at an interval. Handlers with equal names are counted together.
  ///
  /// - Parameter event: The event.
  /// - Complexity: O(handlers of the event + names of the handlers of all events so far).
  public func sample<Payload>(_ event: Event<Payload>) async {
    let name = names.event(event.identity)
    var waiting: [String: Int] = [:]
    for handler in await event.handlers() {
      waiting[names.handler(handler.token), default: 0] += handler.waitingCount
    }
    // Handlers that have left the event get the value 0. Otherwise their meters would keep the last
    // value.
    for handler in all.withLock({ $0.keys.filter { $0.event == name }.compactMap(\.handler) }) {
      waiting[handler, default: 0] += 0
    }
    for (handler, count) in waiting { series(name, handler).waiting?.set(count) }
  }

  // MARK: Series

  /// Returns the metrics of an event, or of a handler. Makes them at the first call.
  private func series(_ event: String, _ handler: String?) -> Series {
    let key = SeriesKey(event: event, handler: handler)
    return first(key, in: all) { Series(key, factory ?? MetricsSystem.factory) }
  }

  /// Returns a meter of the backlog of a group. Makes it at the first call.
  func meter(_ name: String, _ subject: String, _ group: String) -> Meter {
    first([name, subject, group], in: backlogs) {
      Meter(
        label: "eventing.backlog.\(name)", dimensions: [("subject", subject), ("group", group)],
        factory: factory ?? MetricsSystem.factory)
    }
  }

  /// The metrics factory is called outside the mutex, so two threads may make metrics for one key
  /// at the same time. Then both threads use those that were stored first.
  private func first<Key: Hashable & Sendable, Value: Sendable>(
    _ key: Key, in all: borrowing Mutex<[Key: Value]>, _ make: () -> Value
  ) -> Value {
    if let found = all.withLock({ $0[key] }) { return found }
    let made = make()
    return all.withLock { all in
      if let found = all[key] { return found }
      all[key] = made
      return made
    }
  }
}
