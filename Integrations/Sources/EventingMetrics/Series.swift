import CoreMetrics

/// The dimensions of one series of metrics.
struct SeriesKey: Hashable, Sendable {
  let event: String
  /// The name of the handler; `nil` for the series of the event itself.
  let handler: String?
}

/// The outcome of an occurrence for a handler.
enum CallOutcome: String, CaseIterable, Sendable {
  case delivered, failed, skipped, dropped, held
}

/// The metrics of one event, or of one handler. For an event, the metrics of a handler are `nil`;
/// for a handler, the metrics of an event are `nil`.
final class Series: Sendable {
  // MARK: Metrics of an event

  let occurrences: Counter?
  let handlers: Meter?

  // MARK: Metrics of a handler

  let duration: Timer?
  let running: Meter?
  let waiting: Meter?
  private let outcomes: [CallOutcome: Counter]

  init(_ key: SeriesKey, _ factory: any MetricsFactory) {
    var dimensions = [("event", key.event)]
    guard let handler = key.handler else {
      occurrences = Counter(label: "eventing.occurrences", dimensions: dimensions, factory: factory)
      handlers = Meter(label: "eventing.handlers", dimensions: dimensions, factory: factory)
      (duration, running, waiting, outcomes) = (nil, nil, nil, [:])
      return
    }
    dimensions.append(("handler", handler))
    (occurrences, handlers) = (nil, nil)
    duration = Timer(label: "eventing.call.duration", dimensions: dimensions, factory: factory)
    running = Meter(label: "eventing.running", dimensions: dimensions, factory: factory)
    waiting = Meter(label: "eventing.waiting", dimensions: dimensions, factory: factory)
    var outcomes: [CallOutcome: Counter] = [:]
    for outcome in CallOutcome.allCases {
      outcomes[outcome] = Counter(
        label: "eventing.calls", dimensions: dimensions + [("outcome", outcome.rawValue)], factory: factory)
    }
    self.outcomes = outcomes
  }

  /// Counts one occurrence with an outcome.
  func count(_ outcome: CallOutcome) { outcomes[outcome]?.increment() }
}
