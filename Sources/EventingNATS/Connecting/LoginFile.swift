#if NATS
  import EventingTransport
  import Foundation

  /// The file with the secret key of a user, and perhaps with the user's JWT. It is read again for
  /// each connection.
  struct LoginFile: Sendable {
    /// The reason for which a login fails before it is sent.
    ///
    /// libnats 3.4.1 encodes a signature that begins with a zero byte as no signature. One in 256
    /// begins so, and the server would refuse the login. After a server has refused two logins in a
    /// row, libnats no longer tries that server. So this process lets such a login fail before it
    /// is sent. A login that fails so does not count as refused by the server.
    static let unsendable = "expected a signature that libnats can send; another login will have one"

    /// The path; empty for credentials without a file.
    let path: String

    /// Returns the JWT.
    func jwt() throws -> String {
      let lines = try self.lines()
      guard let begin = lines.firstIndex(where: { $0.contains("BEGIN NATS USER JWT") }), begin + 1 < lines.count else {
        throw TransportError(.badOption, "expected credentials with a user JWT in \(shownPath(path)); found none")
      }
      return lines[begin + 1]
    }

    /// Returns the secret key.
    func seed() throws -> String {
      guard let seed = try lines().first(where: { $0.hasPrefix("SU") }) else {
        throw TransportError(
          .badOption, "expected the seed of a user, which begins with SU, in \(shownPath(path)); found none")
      }
      return seed
    }

    /// Returns the signature of a server's nonce. Throws if libnats could not send the signature:
    /// see ``unsendable``. Another login may then succeed, because the server sends another nonce
    /// for each connection.
    func signature(of nonce: String) throws -> [UInt8] {
      let signature = try EventingNATS.signature(of: nonce, seed: seed())
      guard signature.first != 0 else { throw LibraryError(text: LoginFile.unsendable) }
      return signature
    }

    /// Reads the file. Returns the lines that are not empty, without spaces around them.
    private func lines() throws -> [String] {
      guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
        throw TransportError(.badOption, "expected a file at \(shownPath(path)); it cannot be read as text")
      }
      return text.split(whereSeparator: \.isNewline).map { $0.trimmingCharacters(in: .whitespaces) }.filter {
        !$0.isEmpty
      }
    }
  }
#endif
