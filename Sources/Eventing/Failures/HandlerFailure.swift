/// An error that a handler threw.
public struct HandlerFailure: Error, Sendable {
  /// The handler that threw.
  public let handler: HandlerToken
  /// The error.
  public let error: any Error

  /// The number of attempts that were made: 1, unless the handler is tried again. See
  /// ``HandlerOption/retrying(_:if:clock:)``.
  public let attempts: Int

  let priority: Int

  init(
    _ handler: HandlerToken, _ error: any Error, _ options: HandlerOptions?, attempts: Int = 1
  ) {
    self.attempts = attempts
    self.handler = handler
    self.error = error
    priority = options?.priority ?? 0
  }

  func isBefore(_ other: HandlerFailure) -> Bool {
    priority != other.priority ? priority > other.priority : handler.id < other.handler.id
  }
}

extension HandlerFailure: CustomStringConvertible {
  /// One line for a log.
  public var description: String { "\(handler.name ?? handler.description): \(error)" }
}
