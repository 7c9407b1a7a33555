extension RemoteMessage {
  /// The id that the publisher gave: that of a CloudEvent, or else that of the message.
  var publisherID: String { isCloudEvent ? headers["ce-id"] ?? id : id }

  /// The text by which two messages are known to be the same one: for a CloudEvent its source
  /// together with its id, which is unique for that source only; or else the id.
  package var identity: String {
    guard isCloudEvent, let id = headers["ce-id"], let source = headers["ce-source"] else { return id }
    return "\(SubjectWord.escaped(source))/\(id)"
  }

  /// The identity as an id for an engine: of a long source, only the beginning and a hash.
  package var boundedIdentity: String {
    guard isCloudEvent, let id = headers["ce-id"], let source = headers["ce-source"], source.utf8.count > 80 else {
      return identity
    }
    let beginning = String(source.unicodeScalars.prefix(20))
    return "\(SubjectWord.escaped(beginning))~\(String(stableHash(source), radix: 36))/\(id)"
  }

  private var isCloudEvent: Bool { headers["ce-specversion"] != nil }
}
