public import Foundation

/// An error of a transport or of a remote event. Its description states what was expected and what
/// was found.
///
/// An error never contains credentials or the bodies of messages.
public struct TransportError: Error, Sendable {
  /// The kind of an error. Later versions may add kinds.
  public struct Code: Hashable, Sendable {
    let name: String

    /// Creates a kind of error that an engine adds.
    public init(_ name: String) { self.name = name }

    /// A subject isn't allowed, or no stream stores it. A subject consists of words joined by dots,
    /// with at most 255 bytes in total and no wildcards. The engine's own subjects are refused,
    /// too.
    public static var badSubject: Code { Code("badSubject") }
    /// A group name is too long or has characters other than letters, digits, `-` and `_`.
    public static var badGroup: Code { Code("badGroup") }
    /// A header cannot be sent because of its name or value, or its name is reserved for the
    /// library.
    public static var badHeader: Code { Code("badHeader") }
    /// An option has an invalid value, or the id of a message can't be sent because it's empty, too
    /// long, or has characters that aren't allowed.
    public static var badOption: Code { Code("badOption") }
    /// The body of a message is larger than the engine allows.
    public static var tooLarge: Code { Code("tooLarge") }
    /// The engine refuses this particular message and would refuse it every time.
    public static var rejected: Code { Code("rejected") }
    /// The codec could not encode a payload.
    public static var notEncodable: Code { Code("notEncodable") }
    /// The codec could not decode a reply.
    public static var notDecodable: Code { Code("notDecodable") }
    /// The engine does not promise the requested feature.
    public static var notPromised: Code { Code("notPromised") }
    /// No process responds to a question, or no responder had an answer.
    public static var noResponders: Code { Code("noResponders") }
    /// A responder in another process threw an error.
    public static var responderFailed: Code { Code("responderFailed") }
    /// No reply arrived in time. The request may still have been handled.
    public static var timedOut: Code { Code("timedOut") }
    /// A message was sent, but no receipt arrived: the message may or may not be stored.
    public static var mayBeStored: Code { Code("mayBeStored") }
    /// The engine refused to connect, to send or to subscribe, or it couldn't be reached to do so.
    /// A message that was forwarded too often is refused, too.
    public static var refused: Code { Code("refused") }
    /// The connection, the transport or the event was closed.
    public static var closed: Code { Code("closed") }
    /// A stream of this name exists but has different options.
    public static var streamDiffers: Code { Code("streamDiffers") }
    /// The event already listens with this group.
    public static var alreadyListening: Code { Code("alreadyListening") }
  }

  /// The kind of this error.
  public let code: Code
  /// A sentence that states what was expected and what was found.
  public let description: String

  /// Whether every further attempt to publish the same message would fail in the same way, because
  /// the reason is the message itself and not the engine or its state.
  public var isLasting: Bool {
    [.badHeader, .badOption, .tooLarge, .rejected, .notEncodable].contains(code)
  }

  /// Creates an error.
  ///
  /// - Parameters:
  ///   - code: The kind.
  ///   - description: A sentence that states what was expected and what was found.
  public init(_ code: Code, _ description: String) {
    self.code = code
    self.description = description
  }
}

extension TransportError: CustomStringConvertible {}

extension TransportError: LocalizedError {
  /// The description, so that `localizedDescription` returns it, too.
  public var errorDescription: String? { description }
}

extension TransportError.Code: CustomStringConvertible {
  /// The name of the kind.
  public var description: String { name }
}
