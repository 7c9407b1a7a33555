/// What becomes of an occurrence after an interceptor.
public enum Interception: Sendable {
  /// The handlers after it see the occurrence.
  case proceed
  /// They do not; the report counts them as skipped.
  case stop
}

extension Interception: CustomStringConvertible {
  /// In one line.
  public var description: String {
    switch self {
    case .proceed: "proceed"
    case .stop: "stop"
    }
  }
}

extension EventSource {
  /// Adds an inline handler that decides whether the handlers after it in the order, lanes included, see the occurrence.
  ///
  /// Those that are kept from it count as skipped, and their once-flags are kept. An error is a failure like any other, and proceeds.
  @discardableResult
  public nonisolated func intercept(
    named name: String? = nil, priority: Int = 0, _ body: @escaping @Sendable (Payload) throws -> Interception
  ) -> HandlerToken {
    attach(Handler(.inline, .intercept { try body($0.payload()) }), name, priority, false)
  }
}
