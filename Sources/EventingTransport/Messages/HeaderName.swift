/// The names of the headers that the library writes.
enum HeaderName {
  /// The media type of the body.
  static let contentType = "Content-Type"
  /// The name of the payload's type for other programs.
  static let type = "Eventing-Type"
  /// The version of the payload's type. There is no header for version 1.
  static let version = "Eventing-Version"
  /// The forwarding path: the subjects that a message came through, with the identities of their
  /// transports.
  static let path = "Eventing-Path"
  /// The number of subjects on the path, and hashes of some of them, if ``path`` has no room for
  /// all.
  static let pathMarks = "Eventing-Path-Marks"
  /// The reason why a message is a dead letter.
  static let deadReason = "Eventing-Dead-Reason"
  /// The subject that the message was published to before it became a dead letter.
  static let deadSubject = "Eventing-Dead-Subject"
  /// Marks of the subjects that a dead letter came from: of its message's subject and, if that
  /// message was a dead letter itself, of the subjects before.
  static let deadWay = "Eventing-Dead-Way"
  /// The group whose listening made the dead letter. A listening without a group writes no such
  /// header.
  static let deadGroup = "Eventing-Dead-Group"
  /// The number of attempts to handle the message before it became a dead letter.
  static let deadAttempts = "Eventing-Dead-Attempts"
  /// The time that the caller of a request waits for the reply, in milliseconds.
  static let limit = "Eventing-Limit"
  /// The beginning of the names of headers of a dead letter that were instructions to the engine in
  /// its message. The rest of their names follows.
  static let deadInstruction = "Eventing-Dead-Instruction-"
  /// The beginning of the names of headers of a dead letter that could not be sent as they were in
  /// its message. Their escaped names follow.
  static let deadHeader = "Eventing-Dead-Header-"
  /// The number of headers of its message that a dead letter lacks, because it would be too large
  /// with them.
  static let deadLeftOut = "Eventing-Dead-Left-Out"
  /// The size of the body of the message, in bytes. Only a dead letter has this header that has
  /// only the beginning of that body, because it would be too large with all of it.
  static let deadSize = "Eventing-Dead-Size"
  /// The code of the error that a reply has in place of an answer: see ``TransportError/Code``.
  static let failure = "Eventing-Failure"
  /// The description of the error that a reply has in place of an answer.
  static let failureReason = "Eventing-Failure-Reason"
}
