#if NATS
  import EventingNATS
  import Foundation
  import Testing

  /// Calls of the program `openssl`, in a folder of one test.
  struct OpenSSL {
    let folder: String

    func callAsFunction(_ arguments: String...) throws {
      let openssl = Process()
      openssl.executableURL = URL(fileURLWithPath: "/usr/bin/env")
      openssl.arguments = ["openssl"] + arguments
      openssl.currentDirectoryURL = URL(fileURLWithPath: folder)
      openssl.standardOutput = FileHandle.nullDevice
      openssl.standardError = FileHandle.nullDevice
      try openssl.run()
      openssl.waitUntilExit()
      try #require(openssl.terminationStatus == 0, "expected openssl \(arguments.joined(separator: " ")) to succeed")
    }

    func path(_ name: String) -> String { "\(folder)/\(name)" }

    func write(_ text: String, to name: String) throws {
      try text.write(toFile: path(name), atomically: true, encoding: .utf8)
    }

    func read(_ name: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: path(name))) }

    /// Makes the certificate authority `name.pem` with the key `name.key`.
    func makeAuthority(_ name: String) throws {
      try self(
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
        "-subj", "/CN=\(name)", "-keyout", "\(name).key", "-out", "\(name).pem")
    }

    /// Makes the certificate `name.pem` with the key `name.key`.
    ///
    /// - Parameters:
    ///   - authority: The name of the authority that signs the certificate.
    ///   - place: The host that the certificate is for, as in `IP:127.0.0.1` or `DNS:example.org`.
    func makeCertificate(_ name: String, by authority: String, for place: String) throws {
      try self(
        "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=\(name)",
        "-keyout", "\(name).key", "-out", "\(name).csr")
      try write("subjectAltName = \(place)\n", to: "\(name).ext")
      try self(
        "x509", "-req", "-in", "\(name).csr", "-CA", "\(authority).pem", "-CAkey", "\(authority).key",
        "-CAcreateserial", "-days", "2", "-extfile", "\(name).ext", "-out", "\(name).pem")
    }
  }

  /// A new key pair for NATS.
  struct NKey {
    enum Kind: UInt8 { case account = 0, operator_ = 112, user = 160 }

    let publicKey: String
    let seed: String
    private let name: String
    private let openssl: OpenSSL

    init(_ kind: Kind, _ openssl: OpenSSL) throws {
      (name, self.openssl) = ("key\(kind.rawValue)", openssl)
      try openssl("genpkey", "-algorithm", "ed25519", "-out", "\(name).pem")
      try openssl("pkey", "-in", "\(name).pem", "-outform", "DER", "-out", "\(name).private")
      try openssl("pkey", "-in", "\(name).pem", "-pubout", "-outform", "DER", "-out", "\(name).public")
      let (secret, open) = (
        try openssl.read("\(name).private").suffix(32), try openssl.read("\(name).public").suffix(32)
      )
      publicKey = NKey.encode([kind.rawValue] + open)
      seed = NKey.encode([144 | kind.rawValue >> 5, (kind.rawValue & 31) << 3] + secret)
    }

    /// Returns a JWT that this key has signed.
    func jwt(_ claims: [String: Any]) throws -> String {
      let parts = try [["typ": "JWT", "alg": "ed25519-nkey"], claims].map {
        NKey.base64(try JSONSerialization.data(withJSONObject: $0, options: .sortedKeys))
      }
      try openssl.write(parts.joined(separator: "."), to: "\(name).claims")
      try openssl(
        "pkeyutl", "-sign", "-rawin", "-inkey", "\(name).pem", "-in", "\(name).claims", "-out", "\(name).signature")
      return (parts + [NKey.base64(try openssl.read("\(name).signature"))]).joined(separator: ".")
    }

    private static func base64(_ data: Data) -> String {
      data.base64EncodedString().replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
        .replacingOccurrences(of: "=", with: "")
    }

    /// Returns bytes and their checksum (CRC-16/XMODEM) in base 32.
    private static func encode(_ bytes: [UInt8]) -> String {
      var sum: UInt16 = 0
      for byte in bytes {
        sum ^= UInt16(byte) << 8
        for _ in 0..<8 { sum = sum & 0x8000 == 0 ? sum << 1 : sum << 1 ^ 0x1021 }
      }
      let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
      var (text, value, bits) = ("", 0, 0)
      for byte in bytes + [UInt8(sum & 255), UInt8(sum >> 8)] {
        (value, bits) = (value << 8 | Int(byte), bits + 8)
        while bits >= 5 {
          bits -= 5
          text.append(letters[value >> bits & 31])
        }
        value &= (1 << bits) - 1
      }
      if bits > 0 { text.append(letters[value << (5 - bits) & 31]) }
      return text
    }
  }
#endif
