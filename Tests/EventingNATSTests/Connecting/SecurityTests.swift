#if NATS
  import Eventing
  import EventingNATS
  import Foundation
  import Testing

  /// Connections with certificates, keys and credentials that each test makes anew.
  @Suite(.serialized, .timeLimit(.minutes(1))) struct SecurityTests {
    private let folder = NSTemporaryDirectory() + "eventing-keys-\(UUID().uuidString)"
    private let openssl: OpenSSL

    init() throws {
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      openssl = OpenSSL(folder: folder)
    }

    private func connect(
      _ server: NATSServer, credentials: NATS.Credentials? = nil, tls: NATS.TLS? = nil, host: String? = nil
    ) async throws -> NATS {
      var address = server.address
      if tls != nil { address = address.replacingOccurrences(of: "nats://", with: "tls://") }
      if let host { address = address.replacingOccurrences(of: "127.0.0.1", with: host) }
      let end = ContinuousClock.now + .seconds(20)
      while true {
        do { return try await NATS.connect(address, credentials: credentials, tls: tls) } catch {
          guard "\(error)".contains("there is none"), .now < end else { throw error }
          try await Task.sleep(for: .milliseconds(20))
        }
      }
    }

    /// Publishes a message to a stream, waits until a handler receives it, and closes the
    /// connection.
    private func check(_ nats: NATS) async throws {
      let stream = try await nats.stream("TEST", subjects: ["test.>"])
      let event = RemoteEvent<Int>("test.a", over: stream)
      let numbers = Guarded<[Int]>([])
      event.addHandler { number in numbers.withLock { $0.append(number) } }
      try await event.listen(as: "one")
      try await event.publish(7)
      try await eventually("expected 7, got \(numbers.withLock { $0 })") { numbers.withLock { $0 } == [7] }
      await nats.close()
    }

    @Test func aServerWhoseAuthorityIsTrustedIsTaken() async throws {
      defer { try? FileManager.default.removeItem(atPath: folder) }
      for authority in ["ours", "other"] { try openssl.makeAuthority(authority) }
      try openssl.makeCertificate("server", by: "ours", for: "IP:127.0.0.1,DNS:localhost")
      let server = try NATSServer(
        "tls { cert_file: \"\(openssl.path("server.pem"))\", key_file: \"\(openssl.path("server.key"))\" }")
      let ours = NATS.TLS.trusting(openssl.path("ours.pem"))
      try await check(connect(server, tls: ours))
      try await connect(server, tls: ours, host: "localhost").close()
      // TLS options are enough: the address need not begin with `tls://`.
      try await NATS.connect(server.address, tls: ours).close()
      for tls in [NATS.TLS.trusting(openssl.path("other.pem")), .system] {
        let error = await transportError { _ = try await connect(server, tls: tls) }
        #expect(error?.code == .refused)
        #expect(
          error?.description.contains("expected a TLS connection") == true, "\(error.map { "\($0)" } ?? "no error")")
      }
    }

    @Test func aCertificateForAnotherHostIsRefused() async throws {
      defer { try? FileManager.default.removeItem(atPath: folder) }
      try openssl.makeAuthority("ours")
      try openssl.makeCertificate("server", by: "ours", for: "DNS:example.org")
      let server = try NATSServer(
        "tls { cert_file: \"\(openssl.path("server.pem"))\", key_file: \"\(openssl.path("server.key"))\" }",
        hasStreams: false)
      let ours = NATS.TLS.trusting(openssl.path("ours.pem"))
      for host in ["127.0.0.1", "localhost"] {
        let error = await transportError { try await connect(server, tls: ours, host: host).close() }
        #expect(error?.code == .refused, "\(host): \(error.map { "\($0)" } ?? "no error")")
        #expect(
          error?.description.contains("expected a TLS connection") == true, "\(error.map { "\($0)" } ?? "no error")")
      }
    }

    @Test func aClientWithACertificateIsTaken() async throws {
      defer { try? FileManager.default.removeItem(atPath: folder) }
      try openssl.makeAuthority("ours")
      try openssl.makeCertificate("server", by: "ours", for: "IP:127.0.0.1")
      try openssl.makeCertificate("client", by: "ours", for: "DNS:client")
      let server = try NATSServer(
        """
        tls { cert_file: "\(openssl.path("server.pem"))", key_file: "\(openssl.path("server.key"))",
          ca_file: "\(openssl.path("ours.pem"))", verify: true }
        """)
      let (authority, certificate) = (openssl.path("ours.pem"), openssl.path("client.pem"))
      try await check(
        connect(server, tls: .trusting(authority, certificate: certificate, key: openssl.path("client.key"))))
      let error = await transportError { _ = try await connect(server, tls: .trusting(authority)) }
      #expect(error?.code == .refused, "\(error.map { "\($0)" } ?? "no error")")
    }

    @Test func aKeyThatWasMadeNowIsTaken() async throws {
      defer { try? FileManager.default.removeItem(atPath: folder) }
      let (key, other) = (try NKey(.user, openssl), try NKey(.user, openssl))
      try openssl.write(key.seed, to: "seed")
      try openssl.write(other.seed, to: "other")
      let server = try NATSServer("authorization { users: [{ nkey: \(key.publicKey) }] }")
      try await check(connect(server, credentials: .nkey(key.publicKey, seedFile: openssl.path("seed"))))
      let error = await transportError {
        _ = try await connect(server, credentials: .nkey(other.publicKey, seedFile: openssl.path("other")))
      }
      #expect(error?.code == .refused)
      #expect(error?.description.contains(other.seed) == false)
    }

    /// An operator signs an account, the account signs a user, and the user's credentials file is
    /// enough to connect.
    @Test func aCredentialsFileIsTaken() async throws {
      defer { try? FileManager.default.removeItem(atPath: folder) }
      let (chief, account, user) = (
        try NKey(.operator_, openssl), try NKey(.account, openssl), try NKey(.user, openssl)
      )
      func jwt(_ signer: NKey, _ name: String, _ subject: NKey, _ claims: [String: Any]) throws -> String {
        try signer.jwt([
          "jti": name, "iat": Int(Date().timeIntervalSince1970), "iss": signer.publicKey, "name": name,
          "sub": subject.publicKey, "nats": claims.merging(["version": 2, "type": name]) { $1 },
        ])
      }
      let limits: [String: Any] = [
        "subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": true, "conn": -1, "leaf": -1,
      ]
      let accountJWT = try jwt(chief, "account", account, ["limits": limits])
      let userJWT = try jwt(account, "user", user, ["pub": [:], "sub": [:], "subs": -1, "data": -1, "payload": -1])
      let server = try NATSServer(
        """
        operator: \(try jwt(chief, "operator", chief, [:]))
        resolver: MEMORY
        resolver_preload: { \(account.publicKey): \(accountJWT) }
        """, hasStreams: false)
      try openssl.write(
        """
        -----BEGIN NATS USER JWT-----
        \(userJWT)
        ------END NATS USER JWT------

        -----BEGIN USER NKEY SEED-----
        \(user.seed)
        ------END USER NKEY SEED------

        """, to: "app.creds")
      let nats = try await connect(server, credentials: .file(openssl.path("app.creds")))
      let question = RemoteQuestion<Int, Int>("double", over: nats.plain)
      question.addResponder { number in number * 2 }
      try await question.listen(as: "doublers")
      #expect(try await question.firstAnswer(to: 4, within: .seconds(10)) == 8)
      await nats.close()
      let error = await transportError { _ = try await connect(server) }
      #expect(error?.code == .refused)
    }
  }
#endif
