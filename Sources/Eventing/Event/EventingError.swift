/// An error of the library itself that states what was expected and what was found instead.
///
///     do {
///       try await progress.next(within: .seconds(1))
///     } catch EventingError.timedOut {
///       print("nothing came")
///     }
///
/// Two errors are equal if they are of the same kind, whatever their descriptions say. Later
/// versions may add kinds.
public struct EventingError: Error, Sendable {
  enum Kind { case timedOut, eventEnded, unanswered, payloadMismatch }

  let kind: Kind
  /// A sentence that states what was expected and what was found.
  public let description: String

  init(_ kind: Kind, _ description: String) { (self.kind, self.description) = (kind, description) }

  /// No value came within the given time.
  public static var timedOut: EventingError { EventingError(.timedOut, "a value was expected in time; none came") }
  /// The event has ended, so no more values will arrive.
  public static var eventEnded: EventingError {
    EventingError(.eventEnded, "a value was expected; the event has ended")
  }
  /// No responder answered the question.
  public static var unanswered: EventingError {
    EventingError(.unanswered, "an answer was expected; no responder gave one")
  }
  /// The owner already has an event of this name on the bus, but with another payload type.
  public static var payloadMismatch: EventingError {
    EventingError(.payloadMismatch, "an event with this payload was expected; it has another one")
  }
}

extension EventingError: Equatable {
  /// Returns whether both errors are of the same kind.
  public static func == (a: EventingError, b: EventingError) -> Bool { a.kind == b.kind }
  /// Returns whether an error is of the same kind as a given one, for `catch` patterns.
  public static func ~= (a: EventingError, b: any Error) -> Bool { b as? EventingError == a }
}

extension EventingError: CustomStringConvertible {}
