public import Eventing
public import Logging

extension EventDiagnostics {
  /// Creates an observer that logs slow and stuck handlers, growing lanes, and events with too many
  /// handlers.
  ///
  ///     EventDiagnostics(to: logger, slowerThan: .milliseconds(100), stuckAfter: .seconds(10))
  ///       .observeNewEvents()
  ///
  /// The metadata has `finding`, `event` and `event.number`. Where known, it also has `handler`,
  /// `file`, `milliseconds`, `waiting`, `waits` and `handlers`. A stuck handler is an
  /// error, and everything else a warning, unless a level is given.
  ///
  /// - Parameters:
  ///   - logger: The logger.
  ///   - level: The level of the lines; `nil` for one by the kind of the finding.
  ///   - slowest: The longest duration of a call that is not reported; `nil` reports none.
  ///   - stuck: The time after which a call that has not ended is reported; `nil` reports none.
  ///   - most: The largest number of handlers that is not reported; `nil` reports none.
  public convenience init(
    to logger: Logger, at level: Logger.Level? = nil, slowerThan slowest: Duration? = nil,
    stuckAfter stuck: Duration? = nil, moreHandlersThan most: Int? = nil
  ) {
    self.init(slowerThan: slowest, stuckAfter: stuck, moreHandlersThan: most) { finding in
      logger.log(
        level: level ?? (finding.kind == .stuckHandler ? .error : .warning), "\(finding)", metadata: finding.metadata)
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
