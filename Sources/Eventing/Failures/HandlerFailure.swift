/// An error that a handler threw.
public struct HandlerFailure: Sendable {
  /// The handler.
  public let handler: HandlerToken
  /// What it threw.
  public let error: any Error

  /// The handler's name, if it has one.
  public let name: String?

  let priority: Int

  @usableFromInline init(_ handler: HandlerToken, _ error: any Error, _ options: HandlerOptions?) {
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
  /// In one line.
  public var description: String { "\(name ?? handler.description): \(error)" }
}
