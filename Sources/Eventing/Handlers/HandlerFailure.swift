/// An error that a handler threw.
public struct HandlerFailure: Sendable {
  /// The handler.
  public let handler: HandlerToken
  /// What it threw.
  public let error: any Error

  let priority: Int

  @usableFromInline init(_ handler: HandlerToken, _ error: any Error, priority: Int) {
    self.handler = handler
    self.error = error
    self.priority = priority
  }

  func isBefore(_ other: HandlerFailure) -> Bool {
    priority != other.priority ? priority > other.priority : handler.id < other.handler.id
  }
}

extension HandlerFailure: CustomStringConvertible {
  /// In one line.
  public var description: String { "\(handler): \(error)" }
}
