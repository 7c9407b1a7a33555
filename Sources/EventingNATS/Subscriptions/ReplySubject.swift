#if NATS
  /// A program names this subject for the reply to its request.
  enum ReplySubject {
    /// An inbox, whose first word begins with `_`.
    ///
    /// The program that asks may have fewer rights than this process. If replies went to any
    /// subject, it could make this process publish to `$JS.API.STREAM.DELETE.ORDERS`, or to a
    /// subject of the application.
    ///
    /// - Parameter inboxPrefix: This process receives messages there. Only its inbox for replies
    ///   may get one.
    static func isInbox(_ subject: String, of inboxPrefix: String) -> Bool {
      guard subject.utf8.first == UInt8(ascii: "_"), subject.utf8.count <= 512,
        !subject.utf8.contains(where: { $0 <= 32 || $0 == 127 }), !subject.unicodeScalars.contains("\u{fffd}")
      else { return false }
      let words = subject.split(separator: ".", omittingEmptySubsequences: false)
      guard words.count > 1, !words.contains(where: { $0.isEmpty || $0 == "*" || $0 == ">" }) else { return false }
      return !subject.utf8.starts(with: "\(inboxPrefix).".utf8) || subject.utf8.starts(with: "\(inboxPrefix).r.".utf8)
    }
  }
#endif
