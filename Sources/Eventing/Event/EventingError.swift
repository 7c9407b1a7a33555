/// An error of the library itself that states what was expected and what was found instead.
///
///     do {
///       try await progress.next(within: .seconds(1))
///     } catch EventingError.timedOut {
///       print("nothing came")
///     }
public struct EventingError: Error, Sendable {
  /// The kind of error. Later versions may add more.
  public struct Code: Hashable, Sendable {
    let name: String

    /// No value came within the given time.
    public static var timedOut: Code { Code(name: "timedOut") }
    /// The event has ended, so no more values will arrive.
    public static var eventEnded: Code { Code(name: "eventEnded") }
    /// No responder answered the question.
    public static var unanswered: Code { Code(name: "unanswered") }
    /// The owner already has an event of this name on the bus, but with another payload type.
    public static var payloadMismatch: Code { Code(name: "payloadMismatch") }

    /// Returns whether an error is an ``EventingError`` with the given code, for `catch` patterns.
    public static func ~= (code: Code, error: any Error) -> Bool { (error as? EventingError)?.code == code }
  }

  /// See ``Code/timedOut``.
  public static var timedOut: Code { .timedOut }
  /// See ``Code/eventEnded``.
  public static var eventEnded: Code { .eventEnded }
  /// See ``Code/unanswered``.
  public static var unanswered: Code { .unanswered }
  /// See ``Code/payloadMismatch``.
  public static var payloadMismatch: Code { .payloadMismatch }

  /// The kind of this error.
  public let code: Code
  /// A sentence that states what was expected and what was found.
  public let description: String
}

extension EventingError: CustomStringConvertible {}

extension EventingError.Code: CustomStringConvertible {
  /// The name of the kind.
  public var description: String { name }
}
