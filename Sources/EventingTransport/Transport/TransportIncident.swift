/// Something that happened to a transport outside any call.
///
/// It never contains credentials or the bodies of messages.
public struct TransportIncident: Sendable {
  /// The kind of an incident. Later versions may add more.
  public struct Kind: Hashable, Sendable {
    let name: String

    /// Creates a kind that an engine adds.
    public init(_ name: String) { self.name = name }

    /// The connection was lost. The engine tries to connect again.
    public static var lost: Kind { Kind("lost") }
    /// The connection is there again.
    public static var reconnected: Kind { Kind("reconnected") }
    /// A subscription at most once did not keep up, and messages were dropped.
    public static var slowConsumer: Kind { Kind("slowConsumer") }
    /// The engine refused something after the call for it had returned.
    public static var refused: Kind { Kind("refused") }
    /// A message was rejected, and is not delivered again.
    public static var deadLetter: Kind { Kind("deadLetter") }
  }

  /// The kind of the incident.
  public let kind: Kind
  /// The subject that it concerns, if it concerns one.
  public let subject: String?
  /// A sentence for a log.
  public let reason: String
  /// The number of messages that were dropped.
  public let dropped: Int

  /// Creates an incident.
  public init(kind: Kind, subject: String? = nil, reason: String = "", dropped: Int = 0) {
    self.kind = kind
    self.subject = subject
    self.reason = reason
    self.dropped = dropped
  }
}

extension TransportIncident: CustomStringConvertible {
  /// One line for a log.
  public var description: String {
    "\(kind)\(subject.map { " on \($0)" } ?? "")\(dropped > 0 ? ", \(dropped) dropped" : ""): \(reason)"
  }
}

extension TransportIncident.Kind: CustomStringConvertible {
  /// The name of the kind.
  public var description: String { name }
}
