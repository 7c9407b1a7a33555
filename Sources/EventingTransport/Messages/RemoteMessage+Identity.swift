extension RemoteMessage {
  /// A CloudEvent has an id of its own.
  package var publisherID: String { isCloudEvent ? headers["ce-id"] ?? ownID : ownID }

  /// For a CloudEvent its source with its id, which is unique only for that source.
  package var identity: String {
    guard isCloudEvent, let id = headers["ce-id"], let source = headers["ce-source"] else { return ownID }
    return "\(SubjectWord.escaped(source))/\(id)"
  }

  /// Set for a message that was sent again as a dead letter.
  var originalID: String? { headers[HeaderName.originalID].flatMap { SubjectWord.unescaped($0[...]) } }
  private var ownID: String { originalID ?? id }

  /// Short enough for an engine: a long source is replaced by its beginning and a hash.
  package var boundedIdentity: String {
    guard isCloudEvent, let id = headers["ce-id"], let source = headers["ce-source"], source.utf8.count > 80 else {
      return identity
    }
    let beginning = String(source.unicodeScalars.prefix(20))
    return "\(SubjectWord.escaped(beginning))~\(String(stableHash(source), radix: 36))/\(id)"
  }

  private var isCloudEvent: Bool { headers["ce-specversion"] != nil }
}
