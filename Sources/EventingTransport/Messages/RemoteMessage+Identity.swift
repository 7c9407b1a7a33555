extension RemoteMessage {
  /// The id that the publisher chose: for a CloudEvent its own id, otherwise the id of the message.
  var publisherID: String { isCloudEvent ? headers["ce-id"] ?? id : id }

  /// The text that identifies a message. For a CloudEvent, this is its source with its id, because
  /// the id is unique only for that source. Otherwise it is the id.
  package var identity: String {
    guard isCloudEvent, let id = headers["ce-id"], let source = headers["ce-source"] else { return id }
    return "\(SubjectWord.escaped(source))/\(id)"
  }

  /// The text that identifies a message, short enough for an engine. If the source of a CloudEvent
  /// is longer than 80 bytes, the beginning and a hash of the source replace it.
  package var boundedIdentity: String {
    guard isCloudEvent, let id = headers["ce-id"], let source = headers["ce-source"], source.utf8.count > 80 else {
      return identity
    }
    let beginning = String(source.unicodeScalars.prefix(20))
    return "\(SubjectWord.escaped(beginning))~\(String(stableHash(source), radix: 36))/\(id)"
  }

  private var isCloudEvent: Bool { headers["ce-specversion"] != nil }
}
