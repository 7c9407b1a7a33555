/// Why the library refused.
public struct EventingError: Error, Sendable {
  /// The kind of a refusal; more may be added.
  public struct Code: Hashable, Sendable {
    let name: String

    /// Nothing came in time.
    public static var timedOut: Code { Code(name: "timedOut") }
    /// The event has ended, and nothing will come any more.
    public static var eventEnded: Code { Code(name: "eventEnded") }
    /// Nobody answered a question.
    public static var unanswered: Code { Code(name: "unanswered") }
    /// There is an event of this key, and it carries something else.
    public static var payloadMismatch: Code { Code(name: "payloadMismatch") }
  }

  /// The kind of the refusal.
  public let code: Code
  /// What was expected, and what there was.
  public let description: String
}

extension EventingError: CustomStringConvertible {}

extension EventingError.Code: CustomStringConvertible {
  /// Its name.
  public var description: String { name }
}
