#if NATS
  extension NATS {
    /// The credentials of a connection. Their description, `dump` and mirror contain no secrets.
    public struct Credentials: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
      enum Kind: Sendable {
        case file(String)
        case nkey(publicKey: String, seedFile: String)
        case token(String)
        case user(String, password: String)
      }

      let kind: Kind

      var isSigned: Bool {
        switch kind {
        case .file, .nkey: true
        case .token, .user: false
        }
      }

      /// Returns the credentials in a file with a user's JWT and seed.
      ///
      /// - Parameter path: The path of the file. It is read again for each connection.
      public static func file(_ path: String) -> Credentials { Credentials(kind: .file(path)) }
      /// Returns the credentials of a user without a JWT.
      ///
      /// - Parameters:
      ///   - publicKey: The public key: 56 characters that begin with U.
      ///   - seedFile: The path of a file with the seed. It is read again for each connection.
      public static func nkey(_ publicKey: String, seedFile: String) -> Credentials {
        Credentials(kind: .nkey(publicKey: publicKey, seedFile: seedFile))
      }
      /// Returns the credentials of a token that the server is configured with.
      public static func token(_ token: String) -> Credentials { Credentials(kind: .token(token)) }
      /// Returns the credentials of a user and a password that the server is configured with.
      public static func user(_ name: String, password: String) -> Credentials {
        Credentials(kind: .user(name, password: password))
      }

      /// The kind of the credentials, without secrets.
      public var description: String {
        switch kind {
        case .file(let path): "the credentials file \(shownPath(path))"
        case .nkey(_, let path): "the nkey with the seed file \(shownPath(path))"
        case .token: "the token"
        case .user: "the user and the password"
        }
      }
      /// The kind of the credentials, without secrets.
      public var debugDescription: String { description }
      /// A mirror without children.
      public var customMirror: Mirror { Mirror(self, children: []) }
    }

    /// The TLS options of a connection. If the system trusts the server's certificate, an address
    /// `tls://` is enough.
    public struct TLS: Sendable {
      let authorities: String?
      let certificate: String?
      let key: String?

      /// Options that trust the certificate authorities of the system.
      public static var system: TLS { TLS(authorities: nil, certificate: nil, key: nil) }

      /// Returns options that trust other certificate authorities.
      ///
      /// - Parameters:
      ///   - authorities: The path of a PEM file with the certificates to trust.
      ///   - certificate: The path of a PEM file with the certificate of this client, if the server
      ///     requires one.
      ///   - key: The path of a PEM file with the private key of this client.
      public static func trusting(_ authorities: String, certificate: String? = nil, key: String? = nil) -> TLS {
        TLS(authorities: authorities, certificate: certificate, key: key)
      }
    }
  }
#endif
