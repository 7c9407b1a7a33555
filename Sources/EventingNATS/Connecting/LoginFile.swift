#if NATS
  import EventingTransport
  import Foundation

  /// The file has a user's secret key, and perhaps the JWT. It is read again for each connection.
  struct LoginFile: Sendable {
    /// libnats 3.4.1 encodes a signature that begins with a zero byte, one in 256, as no signature.
    /// After a server has refused two logins in a row, libnats no longer tries it. So this process
    /// lets such a login fail before it is sent, which doesn't count.
    static let unsendable = "expected a signature that libnats can send; another login will have one"

    let path: String

    func jwt() throws -> String {
      let lines = try self.lines()
      guard let begin = lines.firstIndex(where: { $0.contains("BEGIN NATS USER JWT") }), begin + 1 < lines.count else {
        throw TransportError(.badOption, "expected credentials with a user JWT in \(shownPath(path)); found none")
      }
      return lines[begin + 1]
    }

    func seed() throws -> String {
      guard let seed = try lines().first(where: { $0.hasPrefix("SU") }) else {
        throw TransportError(
          .badOption, "expected the seed of a user, which begins with SU, in \(shownPath(path)); found none")
      }
      return seed
    }

    /// Throws if libnats could not send the signature: see ``unsendable``. The next login has
    /// another nonce.
    func signature(of nonce: String) throws -> [UInt8] {
      let signature = try EventingNATS.signature(of: nonce, seed: seed())
      guard signature.first != 0 else { throw LibraryError(text: LoginFile.unsendable) }
      return signature
    }

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
