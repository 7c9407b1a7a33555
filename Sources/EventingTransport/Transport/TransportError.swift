public import Foundation

/// An error of a transport or of a remote event, with what was expected and what was found instead.
///
/// It never contains credentials or the bodies of messages.
public struct TransportError: Error, Sendable {
  /// The kind of an error. Later versions may add more.
  public struct Code: Hashable, Sendable {
    let name: String

    /// Creates a kind that an engine adds.
    public init(_ name: String) { self.name = name }

    /// A subject is no words that are joined by dots, or no stream stores it.
    public static var badSubject: Code { Code("badSubject") }
    /// A group name has other characters than letters, digits, `-` and `_`, or too many.
    public static var badGroup: Code { Code("badGroup") }
    /// A header has a name or a value that cannot be sent, or that belongs to the library.
    public static var badHeader: Code { Code("badHeader") }
    /// An option has a value that makes no sense, or an id cannot be sent.
    public static var badOption: Code { Code("badOption") }
    /// The body of a message is larger than the engine takes.
    public static var tooLarge: Code { Code("tooLarge") }
    /// The codec could not encode a payload.
    public static var notEncodable: Code { Code("notEncodable") }
    /// The codec could not decode a reply.
    public static var notDecodable: Code { Code("notDecodable") }
    /// The engine does not promise what is asked for.
    public static var notPromised: Code { Code("notPromised") }
    /// No process responds to a question, or no responder had an answer.
    public static var noResponders: Code { Code("noResponders") }
    /// A responder in another process threw an error.
    public static var responderFailed: Code { Code("responderFailed") }
    /// No reply came in time. A request may have been handled nevertheless.
    public static var timedOut: Code { Code("timedOut") }
    /// A message was sent, and nothing is known of it: it may be stored.
    public static var mayBeStored: Code { Code("mayBeStored") }
    /// The engine refused a call.
    public static var refused: Code { Code("refused") }
    /// The connection, the transport or the event was closed.
    public static var closed: Code { Code("closed") }
    /// A stream of this name exists, and differs.
    public static var streamDiffers: Code { Code("streamDiffers") }
    /// The event listens with this group already.
    public static var alreadyListening: Code { Code("alreadyListening") }
  }

  /// The kind of this error.
  public let code: Code
  /// A sentence that names what was expected and what was found.
  public let description: String

  /// Creates an error.
  ///
  /// - Parameters:
  ///   - code: The kind.
  ///   - description: A sentence that names what was expected and what was found.
  public init(_ code: Code, _ description: String) {
    self.code = code
    self.description = description
  }
}

extension TransportError: CustomStringConvertible {}

extension TransportError: LocalizedError {
  /// The description, so that `localizedDescription` is that sentence, too.
  public var errorDescription: String? { description }
}

extension TransportError.Code: CustomStringConvertible {
  /// The name of the kind.
  public var description: String { name }
}
