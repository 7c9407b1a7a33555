/// An error that a handler threw.
public struct HandlerFailure: Sendable {
  /// The handler that threw.
  public let handler: HandlerToken
  /// The error.
  public let error: any Error

  /// The name of the handler; `nil` if it has none.
  public let name: String?

  /// The number of attempts that were made: 1, unless the handler is tried again. See
  /// ``Handler/retrying(_:if:clock:)``.
  public let attempts: Int

  let priority: Int

  init(
    _ handler: HandlerToken, _ error: any Error, _ options: HandlerOptions?, attempts: Int = 1
  ) {
    self.attempts = attempts
    self.handler = handler
    self.error = error
    name = options?.name
    priority = options?.priority ?? 0
  }

  func isBefore(_ other: HandlerFailure) -> Bool {
    priority != other.priority ? priority > other.priority : handler.id < other.handler.id
  }
}

extension HandlerFailure: CustomStringConvertible {
  /// One line for a log.
  public var description: String { "\(name ?? handler.description): \(error)" }
}
