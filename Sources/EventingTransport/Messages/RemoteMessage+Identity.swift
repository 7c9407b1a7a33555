extension RemoteMessage {
  /// A CloudEvent has an id of its own.
  var publisherID: String { isCloudEvent ? headers["ce-id"] ?? id : id }

  /// For a CloudEvent its source with its id, which is unique only for that source.
  package var identity: String {
    guard isCloudEvent, let id = headers["ce-id"], let source = headers["ce-source"] else { return id }
    return "\(SubjectWord.escaped(source))/\(id)"
  }

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
