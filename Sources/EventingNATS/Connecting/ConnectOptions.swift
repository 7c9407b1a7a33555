#if NATS
  import EventingTransport
  import Foundation

  struct ConnectOptions: Sendable {
    let servers: [String]
    let credentials: NATS.Credentials?
    let tls: NATS.TLS?
    /// One address `tls://` is enough to require TLS for all servers, because libnats may connect
    /// to any of them.
    let isSecure: Bool
    let timeout: Duration
    /// If one message takes longer on the socket, libnats ends the connection.
    var writeDeadline = Duration.seconds(5)
    let secrets: Secrets

    init(
      _ servers: [String], _ credentials: NATS.Credentials?, _ tls: NATS.TLS?, within timeout: Duration
    ) throws {
      guard timeout > .zero else {
        throw TransportError(.badOption, "expected a connectTimeout of more than zero; got \(timeout)")
      }
      guard !servers.isEmpty else {
        throw TransportError(.badOption, "expected the address of a server, as in \"nats://host:4222\"; got none")
      }
      for server in servers { try ConnectOptions.check(server) }
      var contents: [String] = []
      switch credentials?.kind {
      case .file(let path):
        contents.append(try ConnectOptions.text(path, "a credentials file"))
        guard contents[0].contains("BEGIN NATS USER JWT") else {
          throw TransportError(.badOption, "expected credentials with a user JWT in \(shownPath(path)); found none")
        }
      case .nkey(let publicKey, let path):
        guard publicKey.hasPrefix("U"), publicKey.utf8.count == 56 else {
          throw TransportError(
            .badOption,
            "expected the public key of a user, 56 characters that begin with U; got \(publicKey.utf8.count)")
        }
        contents.append(try ConnectOptions.text(path, "a file with a seed"))
        guard contents[0].contains("SU") else {
          throw TransportError(
            .badOption, "expected the seed of a user, which begins with SU, in \(shownPath(path)); found none")
        }
      case .token(let token) where token.isEmpty:
        throw TransportError(.badOption, "expected a token; got an empty one")
      case .user(let name, _) where name.isEmpty:
        throw TransportError(.badOption, "expected the name of a user; got an empty one")
      case .token, .user, nil: break
      }
      for file in [tls?.authorities, tls?.certificate, tls?.key] {
        if let file { _ = try ConnectOptions.text(file, "a PEM file") }
      }
      self.servers = servers
      self.credentials = credentials
      self.tls = tls
      self.timeout = timeout
      secrets = Secrets(servers, credentials, contents: contents)
      isSecure = tls != nil || servers.contains { $0.hasPrefix("tls://") }
    }

    private static func check(_ server: String) throws {
      let parts = URLComponents(string: server)
      let isGood =
        (parts?.scheme == "nats" || parts?.scheme == "tls") && parts?.host?.isEmpty == false
        && (1...65_535).contains(parts?.port ?? 4_222) && (parts?.path.isEmpty ?? true)
        && parts?.query == nil && parts?.fragment == nil
      if !isGood {
        throw TransportError(
          .badOption,
          "expected an address as nats://host:4222 or tls://host:4222; got \(quoted(shownAddress(server)))")
      }
    }

    private static func text(_ path: String, _ expected: String) throws -> String {
      var isFolder: ObjCBool = false
      guard unsafe FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), !isFolder.boolValue else {
        throw TransportError(
          .badOption, "expected \(expected) at \(shownPath(path)); there is \(isFolder.boolValue ? "a folder" : "none")"
        )
      }
      guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
        throw TransportError(.badOption, "expected \(expected) at \(shownPath(path)); it cannot be read as text")
      }
      return text
    }

    /// For all servers together, this is a little longer than the timeout, so that the timeout of
    /// this library always ends the wait first.
    var millisecondsForEach: Int64 { (timeout / servers.count).milliseconds + 50 }

    var loginFile: LoginFile {
      switch credentials?.kind {
      case .file(let path), .nkey(_, let path): LoginFile(path: path)
      case .token, .user, nil: LoginFile(path: "")
      }
    }

    var lateness: TransportError {
      let places = servers.map(shownAddress).joined(separator: ", ")
      return TransportError(
        .timedOut, "expected \(places) to accept a connection within the connectTimeout of \(timeout); none did")
    }

    /// Blocks for about the timeout, or for ever in a TLS handshake. Retries a login that is signed
    /// with a key: see ``LoginFile/unsendable``.
    func connect(_ events: ConnectionEvents) throws -> LibraryConnection {
      for _ in 0..<2 {
        do { return try LibraryConnection(self, events) } catch {
          let isRetried = [LoginFile.unsendable, "Authorization Violation"].contains { "\(error)".contains($0) }
          guard credentials?.isSigned == true, isRetried else { throw error }
        }
      }
      return try LibraryConnection(self, events)
    }

    /// With `lacksTLS`, the server offers no TLS, but the options require it.
    func failure(_ text: String, lacksTLS: Bool) -> TransportError {
      let places = servers.map(shownAddress).joined(separator: ", ")
      if text.lowercased().hasPrefix("timeout") { return lateness }
      if lacksTLS {
        return TransportError(
          .refused,
          "expected a TLS connection to \(places), as \(tls == nil ? "the address says" : "the TLS options say"); the server offers none"
        )
      }
      let lowercase = text.lowercased()
      let text = secrets.hide(in: text)
      if lowercase.contains("authorization") || lowercase.contains("authentication") {
        let kind = credentials?.description ?? "no credentials"
        return TransportError(.refused, "expected credentials that \(places) takes; it refuses \(kind): \(text)")
      }
      if lowercase.contains("expected 'pong'") {  // the server closed the connection without a reason
        return TransportError(
          .refused,
          "expected \(places) to accept the connection; it hung up. Servers do so if a client certificate is missing")
      }
      if lowercase.contains("ssl") || lowercase.contains("secure") || lowercase.contains("tls") {
        return TransportError(.refused, "expected a TLS connection to \(places) that both sides accept: \(text)")
      }
      return TransportError(.refused, "expected a NATS server at \(places); there is none: \(text)")
    }
  }
#endif
