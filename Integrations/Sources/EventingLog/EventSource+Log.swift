public import Eventing
public import EventingTransport
public import Logging

// Inline handlers write the log lines, on the thread that delivers the failure, incident or
// occurrence. Payloads are never logged. An error is logged with its description, which the program
// controls.

extension EventSource<HandlerFailure> {
  /// Logs the errors of handlers.
  ///
  ///     orders.failures.log(to: logger, as: "orders")
  ///
  /// The metadata has `event`, `handler`, `attempts`, `file`, `error` and `error.type`. Logging
  /// begins before the method returns. Any thread may call the method.
  ///
  /// A failure of a remote event doesn't name its message. To log the id, add the handler that may
  /// fail to `remoteOccurrences`, and let its error have the id.
  ///
  /// - Parameters:
  ///   - logger: The logger.
  ///   - event: The name of the event, for the metadata.
  ///   - level: The level of the lines.
  /// - Returns: The token of the handler that logs. Remove it to end the logging.
  @discardableResult public nonisolated func log(
    to logger: Logger, as event: String, at level: Logger.Level = .error
  ) -> HandlerToken {
    addHandler(.named("log")) { failure in
      var metadata: Logger.Metadata = [
        "event": "\(event)", "handler": "\(failure.handler.name ?? failure.handler.description)",
        "attempts": "\(failure.attempts)", "error": "\(failure.error)", "error.type": "\(type(of: failure.error))",
      ]
      metadata.addFile(of: failure.handler)
      logger.log(level: level, "a handler failed", metadata: metadata)
    }
  }
}

extension EventSource<TransportIncident> {
  /// Logs the incidents of a transport.
  ///
  ///     nats.incidents.log(to: logger)
  ///
  /// Without a given level, a restored connection is logged as a notice, and every other incident
  /// as a warning. The metadata has `incident`, and, if there are any, `subject`, `event`, `stream`,
  /// `message` (its id) and `dropped`. Logging begins before the method returns. Any thread may call
  /// the method.
  ///
  /// - Parameters:
  ///   - logger: The logger.
  ///   - level: The level of the lines; `nil` to choose it by the kind of the incident.
  /// - Returns: The token of the handler that logs. Remove it to end the logging.
  @discardableResult public nonisolated func log(to logger: Logger, at level: Logger.Level? = nil) -> HandlerToken {
    addHandler(.named("log")) { incident in
      var metadata: Logger.Metadata = ["incident": "\(incident.kind)"]
      metadata["subject"] = incident.subject.map { "\($0)" }
      metadata["event"] = incident.event.map { "\($0)" }
      metadata["stream"] = incident.stream.map { "\($0)" }
      metadata["message"] = incident.messageID.map { "\($0)" }
      if incident.dropped > 0 { metadata["dropped"] = "\(incident.dropped)" }
      let reason = incident.reason.isEmpty ? "a transport incident" : incident.reason
      logger.log(
        level: level ?? (incident.kind == .reconnected ? .notice : .warning), "\(reason)", metadata: metadata)
    }
  }
}

extension Event {
  /// Logs the occurrences that reached no handler, without their payloads.
  ///
  /// The metadata has `event` and `sequence`. Logging begins before the method returns. Any thread
  /// may call the method.
  ///
  /// - Parameters:
  ///   - logger: The logger.
  ///   - level: The level of the lines.
  /// - Returns: The token of the handler that logs. Remove it to end the logging.
  @discardableResult public nonisolated func logUnheard(
    to logger: Logger, at level: Logger.Level = .notice
  ) -> HandlerToken {
    let event = identity
    return unhandled.addHandler(.named("log")) { occurrence in
      logger.log(
        level: level, "no handler took an occurrence",
        metadata: ["event": "\(event)", "sequence": "\(occurrence.sequence)"])
    }
  }
}

extension Logger.Metadata {
  /// Adds the place in the source where a handler was made.
  mutating func addFile(of handler: HandlerToken) {
    if let file = handler.fileID { self["file"] = "\(file):\(handler.line ?? 0)" }
  }
}
