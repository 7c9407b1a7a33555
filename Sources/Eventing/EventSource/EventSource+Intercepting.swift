/// The decision of an interceptor on the occurrence: see
/// ``EventSource/intercept(named:priority:fileID:line:_:)``.
public enum Interception: Sendable {
  /// Passes the occurrence on to the handlers that follow.
  case proceed
  /// Keeps the occurrence from the handlers that follow; the report counts them as skipped.
  case stop
}

extension Interception: CustomStringConvertible {
  /// The name of the case.
  public var description: String {
    switch self {
    case .proceed: "proceed"
    case .stop: "stop"
    }
  }
}

extension EventSource {
  /// Adds an inline handler that can keep an occurrence from the handlers that follow in the order.
  ///
  /// If the closure returns ``Interception/stop``, all following handlers are skipped, on lanes and
  /// inline alike. The ``SendReport`` counts them as skipped, and once handlers are not used up. An
  /// error is a failure like any other, and the occurrence proceeds, unless the event's policy is
  /// ``FailurePolicy/skipLaterHandlers``. A locked or removed interceptor stops nothing.
  ///
  /// This takes effect before it returns, and may be called from any thread and inside any handler:
  /// see ``EventSource``.
  ///
  /// - Parameters:
  ///   - name: The name in logs and snapshots. Several handlers may share a name.
  ///   - priority: Handlers of higher priority come first. Give an interceptor a higher priority
  ///     than the handlers that it guards.
  ///   - fileID: The file where the handler is made, for snapshots and diagnostics.
  ///   - line: The line where the handler is made.
  ///   - body: The closure that is called with each payload, on the thread that delivers.
  /// - Returns: A token that names the handler. Dropping it changes nothing.
  /// - Complexity: O(1), or O(priorities) for the first handler of a priority.
  @discardableResult
  public nonisolated func intercept(
    named name: String? = nil, priority: Int = 0, fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (Payload) throws -> Interception
  ) -> HandlerToken {
    let options: [HandlerOption<Payload>] = (name.map { [.named($0)] } ?? []) + [.priority(priority)]
    var handler = Handler<Payload>(.inline, .intercept { try body($0.payload()) }, options, SourceLine(fileID, line))
    handler.options.isInterceptor = true
    return add(handler)
  }
}
