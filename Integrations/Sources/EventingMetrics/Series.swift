import CoreMetrics
import Synchronization

/// The names that one series of metrics has as dimensions.
struct SeriesKey: Hashable, Sendable {
  let event: String
  /// The name of the handler; `nil` for the series of the event itself.
  let handler: String?

  /// The names as dimensions.
  var dimensions: [(String, String)] { [("event", event)] + (handler.map { [("handler", $0)] } ?? []) }
}

/// The outcome of an occurrence for a handler.
enum CallOutcome: String, CaseIterable, Sendable {
  case delivered, failed, skipped, dropped, held
}

/// The metrics of one event, or of one handler.
final class Series: Sendable {
  /// The counter of occurrences; `nil` for a handler.
  let occurrences: Counter?
  let timer: Timer
  let waiting: Gauge
  private let running: Gauge
  private let runningCount = Mutex(0)
  private let outcomes: [CallOutcome: Counter]

  init(_ key: SeriesKey, _ factory: any MetricsFactory) {
    let dimensions = key.dimensions
    occurrences =
      key.handler == nil ? Counter(label: "eventing.occurrences", dimensions: dimensions, factory: factory) : nil
    timer = Timer(label: "eventing.call.duration", dimensions: dimensions, factory: factory)
    running = Gauge(label: "eventing.running", dimensions: dimensions, factory: factory)
    waiting = Gauge(label: "eventing.waiting", dimensions: dimensions, factory: factory)
    outcomes = Dictionary(
      uniqueKeysWithValues: CallOutcome.allCases.map {
        ($0, Counter(label: "eventing.calls", dimensions: dimensions + [("outcome", $0.rawValue)], factory: factory))
      })
  }

  /// Counts an outcome.
  func count(_ outcome: CallOutcome) { outcomes[outcome]?.increment() }

  /// Changes the number of calls that run.
  ///
  /// The gauge is recorded under the mutex, so that the last number recorded is the last one.
  func changeRunning(by change: Int) {
    runningCount.withLock { count in
      count += change
      running.record(count)
    }
  }
}
