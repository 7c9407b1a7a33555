/// Something that happened to a transport outside any call.
///
/// An incident never contains credentials or the bodies of messages.
public struct TransportIncident: Sendable {
  /// The kind of an incident. Later versions may add kinds.
  public struct Kind: Hashable, Sendable {
    let name: String

    /// Creates a kind of incident that an engine adds.
    public init(_ name: String) { self.name = name }

    /// The connection was lost. The engine tries to connect again.
    public static var lost: Kind { Kind("lost") }
    /// The connection was restored.
    public static var reconnected: Kind { Kind("reconnected") }
    /// A subscription without storage was too slow, and messages were dropped.
    public static var slowConsumer: Kind { Kind("slowConsumer") }
    /// The engine refused an operation after the call that requested it had returned.
    public static var refused: Kind { Kind("refused") }
    /// A message was rejected and won't be redelivered.
    public static var deadLetter: Kind { Kind("deadLetter") }
    /// The engine has lost part of its record of what a group or a listening has received, for
    /// example in a crash, so it redelivers messages that the group or the listening had already
    /// received.
    public static var repeated: Kind { Kind("repeated") }
    /// A message was published with the id of a stored message that has a different body or
    /// subject. It isn't stored, and its receipt is that of the stored message: see
    /// ``Receipt/isDuplicate``.
    public static var reusedID: Kind { Kind("reusedID") }
    /// The backlog of a group has grown for longer than the limit of a ``BacklogMonitor``.
    public static var growingBacklog: Kind { Kind("growingBacklog") }
  }

  /// The kind of the incident.
  public let kind: Kind
  /// The subject that the incident concerns, if any.
  public let subject: String?
  /// The subject that the remote event listens to, if the incident concerns a listening. For a
  /// keyed event, the subject ends with `*`.
  public let event: String?
  /// The name of the stream that the incident concerns, if any.
  public let stream: String?
  /// The id of the message that was given up, or that was not stored, if the incident concerns one.
  public let messageID: String?
  /// A sentence for a log that states what was expected and what was found.
  public let reason: String
  /// The number of messages that were dropped.
  public let dropped: Int

  /// Creates an incident.
  ///
  /// - Parameters:
  ///   - kind: The kind.
  ///   - subject: The subject that the incident concerns.
  ///   - event: The subject that the remote event listens to.
  ///   - stream: The name of the stream.
  ///   - messageID: The id of the message.
  ///   - reason: A sentence for a log that states what was expected and what was found.
  ///   - dropped: The number of messages that were dropped.
  public init(
    kind: Kind, subject: String? = nil, event: String? = nil, stream: String? = nil, messageID: String? = nil,
    reason: String = "", dropped: Int = 0
  ) {
    self.kind = kind
    self.subject = subject
    self.event = event
    self.stream = stream
    self.messageID = messageID
    self.reason = reason
    self.dropped = dropped
  }
}

extension TransportIncident {
  /// - Parameter receipt: The receipt of the stored message.
  package static func reusedID(_ message: RemoteMessage, on subject: String, in stream: String?, _ receipt: Receipt)
    -> TransportIncident
  {
    let place = receipt.position.map { " at \($0)" } ?? ""
    return TransportIncident(
      kind: .reusedID, subject: subject, stream: stream, messageID: message.publisherID,
      reason:
        "expected a new id for a new message; this is that of the message\(place), which has another body or subject. The new one is not stored"
    )
  }
}

extension TransportIncident: CustomStringConvertible {
  /// One line for a log.
  public var description: String {
    let places = [
      subject.map { " on \($0)" }, event == subject ? nil : event.map { " for \($0)" },
      stream.map { " in the stream \($0)" }, messageID.map { ", message \(shown($0))" },
      dropped > 0 ? ", \(dropped) dropped" : nil,
    ]
    return onOneLine("\(kind)\(places.compactMap { $0 }.joined()): \(reason)")
  }
}

extension TransportIncident.Kind: CustomStringConvertible {
  /// The name of the kind.
  public var description: String { name }
}
