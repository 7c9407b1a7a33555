enum HeaderName {
  static let contentType = "Content-Type"
  /// Names the type for other programs.
  static let type = "Eventing-Type"
  /// Left out for version 1.
  static let version = "Eventing-Version"
  /// The subjects that a message came through, with the identities of their transports.
  static let path = "Eventing-Path"
  /// The number of steps, and hashes of some, if ``path`` has no room for all.
  static let pathMarks = "Eventing-Path-Marks"
  static let deadReason = "Eventing-Dead-Reason"
  /// The subject of the message before it became a dead letter.
  static let deadSubject = "Eventing-Dead-Subject"
  /// Marks of the subjects that a dead letter came from, its message's included.
  static let deadWay = "Eventing-Dead-Way"
  /// Left out by a listening without a group.
  static let deadGroup = "Eventing-Dead-Group"
  /// A mark of what the group listens to.
  static let deadFilter = "Eventing-Dead-Filter"
  static let deadAttempts = "Eventing-Dead-Attempts"
  /// The position of the message in its stream.
  static let deadPosition = "Eventing-Dead-Position"
  /// The name of the handler that failed last. Left out if no handler got the message.
  static let deadHandler = "Eventing-Dead-Handler"
  /// The number of times that the message has become a dead letter. A message that is sent again
  /// keeps this header.
  static let deadCount = "Eventing-Dead-Count"
  /// The id of the message, escaped.
  static let deadID = "Eventing-Dead-ID"
  /// The id of a message that was sent again, escaped. The stream would refuse the same id.
  static let originalID = "Eventing-ID"
  /// A message that was sent again is for one group alone: its name, and a mark of what it listens
  /// to.
  static let onlyGroup = "Eventing-Only-Group"
  /// The time that the caller of a request waits, in milliseconds.
  static let limit = "Eventing-Limit"
  /// Prefix for headers that were instructions to the engine.
  static let deadInstruction = "Eventing-Dead-Instruction-"
  /// Prefix for headers that could not be sent as they were; escaped names follow.
  static let deadHeader = "Eventing-Dead-Header-"
  /// The number of headers that were left out, because the dead letter would be too large.
  static let deadLeftOut = "Eventing-Dead-Left-Out"
  /// The full size of a body of which a dead letter has only the beginning.
  static let deadSize = "Eventing-Dead-Size"
  /// The ``TransportError/Code`` of a reply without an answer.
  static let failure = "Eventing-Failure"
  static let failureReason = "Eventing-Failure-Reason"
}
