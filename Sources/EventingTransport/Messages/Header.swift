/// The names of the headers that the library writes.
enum Header {
  /// The media type of the body.
  static let contentType = "Content-Type"
  /// The name of the payload's type for other programs.
  static let type = "Eventing-Type"
  /// The version of the payload's type; no header for version 1.
  static let version = "Eventing-Version"
  /// The subjects that a forwarded message came through, with the identities of their transports.
  static let path = "Eventing-Path"
  /// The number of these subjects and the marks of some, if ``path`` has no room for all.
  static let pathMarks = "Eventing-Path-Marks"
  /// The reason for which a message is in a dead-letter subject.
  static let deadReason = "Eventing-Dead-Reason"
  /// The subject from which a dead letter came.
  static let deadSubject = "Eventing-Dead-Subject"
  /// The group that gave a dead letter up; no header without a group.
  static let deadGroup = "Eventing-Dead-Group"
  /// The number of attempts that were made for a dead letter.
  static let deadAttempts = "Eventing-Dead-Attempts"
  /// The reason for which a reply has no answer: see ``TransportError``.
  static let failure = "Eventing-Failure"
  /// The sentence that goes with ``failure``.
  static let failureReason = "Eventing-Failure-Reason"
}
