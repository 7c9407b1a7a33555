#if NATS
  extension NATS {
    /// The credentials of a connection. Their descriptions, `dump` and mirrors have no secrets.
    public struct Credentials: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
      enum Kind: Sendable {
        case file(String)
        case nkey(publicKey: String, seedFile: String)
        case token(String)
        case user(String, password: String)
      }

      let kind: Kind

      /// Whether each login is signed with a key.
      var isSigned: Bool {
        switch kind {
        case .file, .nkey: true
        case .token, .user: false
        }
      }

      /// Returns the credentials of a file with a JWT and the seed of a user.
      ///
      /// - Parameter path: The path of the file, which is read at each connection.
      public static func file(_ path: String) -> Credentials { Credentials(kind: .file(path)) }
      /// Returns the credentials of a user without a JWT.
      ///
      /// - Parameters:
      ///   - publicKey: The public key: 56 characters that begin with U.
      ///   - seedFile: The path of a file with the seed, which is read at each connection.
      public static func nkey(_ publicKey: String, seedFile: String) -> Credentials {
        Credentials(kind: .nkey(publicKey: publicKey, seedFile: seedFile))
      }
      /// Returns a token that the server knows.
      public static func token(_ token: String) -> Credentials { Credentials(kind: .token(token)) }
      /// Returns a user and a password that the server knows.
      public static func user(_ name: String, password: String) -> Credentials {
        Credentials(kind: .user(name, password: password))
      }

      /// The kind of the credentials.
      public var description: String {
        switch kind {
        case .file(let path): "the credentials file \(shownPath(path))"
        case .nkey(_, let path): "the nkey with the seed file \(shownPath(path))"
        case .token: "the token"
        case .user: "the user and the password"
        }
      }
      /// The kind of the credentials.
      public var debugDescription: String { description }
      /// A mirror without children.
      public var customMirror: Mirror { Mirror(self, children: []) }
    }

    /// The TLS options of a connection. An address `tls://` needs none if the system trusts the
    /// server's certificate.
    public struct TLS: Sendable {
      let authorities: String?
      let certificate: String?
      let key: String?

      /// The certificates that the system trusts.
      public static var system: TLS { TLS(authorities: nil, certificate: nil, key: nil) }

      /// Returns options with a certificate authority of your own.
      ///
      /// - Parameters:
      ///   - authorities: The path of a PEM file with the certificates to trust.
      ///   - certificate: The path of a PEM file with the certificate of this client, if the server
      ///     asks for one.
      ///   - key: The path of a PEM file with the private key of this client.
      public static func trusting(_ authorities: String, certificate: String? = nil, key: String? = nil) -> TLS {
        TLS(authorities: authorities, certificate: certificate, key: key)
      }
    }
  }
#endif
