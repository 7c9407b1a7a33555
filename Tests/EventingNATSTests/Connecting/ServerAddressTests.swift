#if NATS
  import Eventing
  import EventingNATS
  import Foundation
  import Testing

  /// An address `tls://` means TLS, also without TLS options.
  @Suite(.serialized, .timeLimit(.minutes(1))) struct ServerAddressTests {
    @Test(arguments: [
      NATS.Credentials.user("anna", password: "open-sesame"), .token("open-sesame"), nil,
    ])
    func noSecretIsSentToAServerWithoutTLS(credentials: NATS.Credentials?) async throws {
      for other in ["", "nats://127.0.0.1:1"] {
        let server = try TextServer(TextServer.info())
        let user = credentials == nil ? "anna:open-sesame@" : ""
        let addresses = ["tls://\(user)127.0.0.1:\(server.port)", other].filter { !$0.isEmpty }
        let error = await transportError { _ = try await NATS.connect(addresses, credentials: credentials) }
        #expect(error?.code == .refused)
        let text = error?.description ?? "no error"
        #expect(!text.contains("sesame"), "\(text)")
        if other.isEmpty {
          #expect(text.contains("expected a TLS connection") && text.contains("offers none"), "\(text)")
          #expect(text.contains("127.0.0.1:\(server.port)"), "\(text)")
        }
        try await eventually("expected the end of the connection") { server.isLeft }
        #expect(server.received == "")
      }
    }

    /// If one address among several begins with `tls://`, the engine requires TLS of each server.
    /// Otherwise libnats might connect to another of the addresses, and send the secret without
    /// TLS.
    @Test func noSecretIsSentToAnyAddressBesideOneWithTLS() async throws {
      let server = try TextServer(TextServer.info())
      let error = await transportError {
        _ = try await NATS.connect(
          "nats://127.0.0.1:\(server.port)", "tls://127.0.0.1:1", credentials: .token("open-sesame"))
      }
      #expect(error?.code == .refused)
      try await eventually("expected the end of the connection") { server.isLeft }
      #expect(server.received == "")
    }

    @Test func aServerWithoutTLSIsRefusedAndOneThatTheSystemDoesNotTrustIs() async throws {
      let plain = try NATSServer("authorization { user: anna, password: p }", hasStreams: false)
      try await plain.connect(credentials: .user("anna", password: "p")).close()
      let address = plain.address.replacingOccurrences(of: "nats://", with: "tls://")
      let error = await transportError {
        _ = try await NATS.connect(address, credentials: .user("anna", password: "p"))
      }
      #expect(error?.code == .refused)
      let folder = NSTemporaryDirectory() + "eventing-keys-\(UUID().uuidString)"
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(atPath: folder) }
      let openssl = OpenSSL(folder: folder)
      try openssl.makeAuthority("ours")
      try openssl.makeCertificate("server", by: "ours", for: "IP:127.0.0.1")
      let secure = try NATSServer(
        "tls { cert_file: \"\(openssl.path("server.pem"))\", key_file: \"\(openssl.path("server.key"))\" }",
        hasStreams: false)
      var text = "there is none"
      while text.contains("there is none") {
        text =
          await transportError {
            _ = try await NATS.connect(secure.address.replacingOccurrences(of: "nats://", with: "tls://"))
          }?.description ?? "no error"
      }
      #expect(text.contains("expected a TLS connection"), "\(text)")
      // With the authority in the options, the connection succeeds.
      let tls = NATS.TLS.trusting(openssl.path("ours.pem"))
      try await NATS.connect(secure.address.replacingOccurrences(of: "nats://", with: "tls://"), tls: tls).close()
    }
  }
#endif
