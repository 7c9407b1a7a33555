#if NATS
  import EventingTransport
  import Foundation

  /// The secrets are removed from the texts of libnats and of servers before these are shown. The
  /// mirror and the description contain none.
  struct Secrets: Sendable, CustomReflectable, CustomStringConvertible {
    /// The longest secret comes first.
    private let texts: [String]

    init(_ servers: [String], _ credentials: NATS.Credentials?, contents: [String]) {
      var texts: Set<String> = []
      switch credentials?.kind {
      case .token(let token): texts.insert(token)
      case .user(_, let password): texts.insert(password)
      case .file, .nkey, nil: break
      }
      for text in contents {
        texts.formUnion(text.split(whereSeparator: \.isWhitespace).map(String.init).filter(isLong))
      }
      for server in servers {
        guard let user = Secrets.user(of: server) else { continue }
        // If the part of an address before its `@` has no colon, as in `nats://secret@host`, it is
        // no user name. It is a secret by itself, which NATS calls a token.
        let secret = user.firstIndex(of: ":").map { String(user[user.index(after: $0)...]) } ?? user
        texts.insert(secret)
        if let plain = secret.removingPercentEncoding { texts.insert(plain) }
      }
      self.texts = texts.filter { !$0.isEmpty }.sorted { $0.count > $1.count }
    }

    var description: String { "secrets" }
    var customMirror: Mirror { Mirror(self, children: []) }

    private static func user(of server: String) -> String? {
      let rest = server.range(of: "://").map { server[$0.upperBound...] } ?? server[...]
      return rest.lastIndex(of: "@").map { String(rest[..<$0]) }
    }

    /// A secret of fewer than four characters is replaced only as a whole word: a password "e"
    /// occurs in every sentence.
    func hide(in text: String) -> String {
      texts.reduce(withoutCredentials(text)) { text, secret in
        guard secret.count < 4 else { return text.replacingOccurrences(of: secret, with: "…") }
        let pattern = #"(?<![\p{L}\p{N}])"# + NSRegularExpression.escapedPattern(for: secret) + #"(?![\p{L}\p{N}])"#
        return text.replacingOccurrences(of: pattern, with: "…", options: .regularExpression)
      }
    }
  }

  /// Long enough for a key or a JWT.
  private func isLong(_ word: String) -> Bool { word.utf8.count >= 20 }

  func withoutCredentials(_ text: String) -> String {
    guard let at = text.lastIndex(of: "@") else { return text }
    if let scheme = text.range(of: "://"), scheme.upperBound <= at {
      return "\(text[..<scheme.upperBound])…\(text[at...])"  // a password may contain spaces
    }
    return text.split(separator: " ", omittingEmptySubsequences: false).map { word in
      word.lastIndex(of: "@").map { "…\(word[$0...])" } ?? String(word)
    }.joined(separator: " ")
  }

  /// The scheme, the host and the port. Every other part may be a secret.
  func shownAddress(_ address: String) -> String {
    var rest = address[...]
    var scheme = ""
    if let end = rest.range(of: "://"), rest[..<end.lowerBound].allSatisfy({ $0.isLetter && $0.isASCII }) {
      scheme = String(rest[..<end.upperBound])
      rest = rest[end.upperBound...]
    }
    if let at = rest.lastIndex(of: "@") { rest = rest[rest.index(after: at)...] }
    let host: Substring
    if rest.first == "[", let end = rest.firstIndex(of: "]") {
      host = rest[...end]
    } else {
      host = rest.prefix { $0.isLetter || $0.isNumber || ".-_".contains($0) }
    }
    rest = rest.dropFirst(host.count)
    let port = rest.first == ":" ? rest.dropFirst().prefix { $0.isASCII && $0.isNumber } : ""
    if port.count > 5 || port.isEmpty { return "\(scheme)\(host.prefix(80))\(rest.isEmpty ? "" : "…")" }
    return "\(scheme)\(host.prefix(80)):\(port)\(rest.count > port.count + 1 ? "…" : "")"
  }

  /// A caller may have passed the content of a file with credentials instead of a path.
  func shownPath(_ path: String) -> String {
    let isContent =
      path.contains("-----") || path.contains { $0.isNewline } || path.utf8.count > 1_024
      || path.split { "/. ".contains($0) }.contains { word in
        word.hasPrefix("eyJ")
          || word.utf8.count > 50 && word.hasPrefix("S") && word.allSatisfy { $0.isNumber || $0.isUppercase }
      }
    return isContent ? "… (a text that is no path)" : path
  }
#endif
