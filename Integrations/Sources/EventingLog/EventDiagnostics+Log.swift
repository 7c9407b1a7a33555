import Eventing
public import EventingDiagnostics
public import Logging

extension EventDiagnostics {
  /// Creates an observer that logs slow and stuck handlers, growing lanes, and events with too many
  /// handlers.
  ///
  ///     EventDiagnostics(to: logger, slowerThan: .milliseconds(100), stuckAfter: .seconds(10))
  ///       .observeNewEvents()
  ///
  /// The metadata has `finding`, `event` and `event.number`. Where known, it also has `handler`,
  /// `file`, `milliseconds`, `waiting`, `waits` and `handlers`. Without a given level, a stuck
  /// handler and a blocked lane are logged as errors, and every other finding as a warning.
  ///
  /// - Parameters:
  ///   - logger: The logger.
  ///   - level: The level of the lines; `nil` to choose it by the kind of the finding.
  ///   - slowest: The duration above which a call is reported; `nil` reports none.
  ///   - stuck: The time after which a running call is reported; `nil` reports none.
  ///   - most: The number of handlers above which an event is reported; `nil` reports none.
  public convenience init(
    to logger: Logger, at level: Logger.Level? = nil, slowerThan slowest: Duration? = nil,
    stuckAfter stuck: Duration? = nil, moreHandlersThan most: Int? = nil
  ) {
    self.init(slowerThan: slowest, stuckAfter: stuck, moreHandlersThan: most) { finding in
      let stands = finding.kind == .stuckHandler || finding.kind == .blockedLane
      logger.log(level: level ?? (stands ? .error : .warning), "\(finding)", metadata: finding.metadata)
    }
  }
}

extension EventDiagnostics.Finding {
  /// The finding as metadata of a log line.
  ///
  /// - Complexity: O(waits).
  public var metadata: Logger.Metadata {
    var metadata: Logger.Metadata = [
      "finding": "\(kind)", "event": "\(eventIdentity)", "event.number": "\(eventIdentity.number)",
    ]
    if let handler {
      metadata["handler"] = "\(handler.name ?? handler.description)"
      metadata.addFile(of: handler)
    }
    if let duration { metadata["milliseconds"] = "\(duration / .milliseconds(1))" }
    if waitingCount > 0 { metadata["waiting"] = "\(waitingCount)" }
    if !waits.isEmpty { metadata["waits"] = .array(waits.map { .string("\($0)") }) }
    if let handlerCount { metadata["handlers"] = "\(handlerCount)" }
    return metadata
  }
}
