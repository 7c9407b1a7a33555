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

  /// Creates an observer.
  ///
  /// - Parameters:
  ///   - factory: The factory of the metrics; `nil` for the one that the program has bootstrapped.
  ///   - limit: The largest number of names of events, and of names of handlers, in dimensions.
  public init(factory: (any MetricsFactory)? = nil, namesUpTo limit: Int = 500) {
    self.factory = factory
    names = BoundedNames(limit: limit)
  }

  // MARK: Calls

  /// Counts an occurrence.
  public func accepted(sequence: UInt64, in event: EventIdentity) {
    let event = names.event(event)
    series(event, nil).occurrences?.increment()
  }

  /// Counts a call that begins.
  public func began(_ handler: HandlerToken, sequence: UInt64, in event: EventIdentity) {
    series(names.event(event), names.handler(handler)).running?.increment()
  }

  /// Counts and measures a call that has ended.
  public func ended(
    _ handler: HandlerToken, sequence: UInt64, duration: Duration, error: (any Error)?, in event: EventIdentity
  ) {
    let series = series(names.event(event), names.handler(handler))
    series.running?.decrement()
    series.duration?.recordNanoseconds(Int64(clamping: duration.attoseconds / 1_000_000_000))
    series.count(error == nil ? .delivered : .failed)
  }

  /// Counts an occurrence that a handler skipped.
  public func skipped(_ handler: HandlerToken, sequence: UInt64, in event: EventIdentity) {
    series(names.event(event), names.handler(handler)).count(.skipped)
  }

  /// Counts an occurrence that a handler dropped without a call.
  public func dropped(_ handler: HandlerToken, sequence: UInt64, in event: EventIdentity) {
    series(names.event(event), names.handler(handler)).count(.dropped)
  }

  /// Counts and measures a call that a newer occurrence had cancelled.
  public func dropped(
    _ handler: HandlerToken, sequence: UInt64, after duration: Duration, in event: EventIdentity
  ) {
    let series = series(names.event(event), names.handler(handler))
    series.running?.decrement()
    series.duration?.recordNanoseconds(Int64(clamping: duration.attoseconds / 1_000_000_000))
    series.count(.dropped)
  }

  /// Counts a call that is not observed any more as one that does not run.
  public func left(_ handler: HandlerToken, sequence: UInt64, in event: EventIdentity) {
    series(names.event(event), names.handler(handler)).running?.decrement()
  }

  /// Counts an occurrence that a lock holds for a handler.
  public func held(_ handler: HandlerToken, sequence: UInt64, in event: EventIdentity) {
    series(names.event(event), names.handler(handler)).count(.held)
  }

  // MARK: Handlers

  /// Counts a new handler.
  public func added(_ handler: HandlerToken, in event: EventIdentity) {
    series(names.event(event), nil).handlers?.increment()
  }

  /// Counts a handler that has ended.
  public func removed(_ handler: HandlerToken, in event: EventIdentity) {
    series(names.event(event), nil).handlers?.decrement()
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
    for handler in await event.handlers {
      waiting[names.handler(handler.name, handler.fileID, handler.line), default: 0] += handler.waitingCount
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
  ///
  /// The metrics factory is called outside the mutex, so two threads may make the metrics of one
  /// handler at the same time. Then both threads use the metrics that were stored first.
  private func series(_ event: String, _ handler: String?) -> Series {
    let key = SeriesKey(event: event, handler: handler)
    if let found = all.withLock({ $0[key] }) { return found }
    let made = Series(key, factory ?? MetricsSystem.factory)
    return all.withLock { all in
      if let found = all[key] { return found }
      all[key] = made
      return made
    }
  }
}
