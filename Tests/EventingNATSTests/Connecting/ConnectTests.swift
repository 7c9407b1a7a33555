#if NATS
  import Eventing
  import EventingNATS
  import Foundation
  import Testing

  @Suite(.serialized, .timeLimit(.minutes(1))) struct ConnectTests {
    @Test(arguments: [
      "", "bus", "http://bus:80", "nats://", "nats://bus:0", "nats://bus:70000", "nats://a b", "nats://bus/x",
    ])
    func anAddressThatIsNoneIsRefused(address: String) async throws {
      let error = await transportError { _ = try await NATS.connect(address) }
      #expect(error?.code == .badOption)
      #expect(error?.description.contains("expected an address as nats://host:4222") == true)
    }

    @Test func noAddressIsRefused() async throws {
      #expect(await transportError { _ = try await NATS.connect([]) }?.code == .badOption)
    }

    @Test func aServerThatIsNotThereIsNamed() async throws {
      let error = await transportError { _ = try await NATS.connect("nats://user:secret@127.0.0.1:1") }
      #expect(error?.code == .refused)
      #expect(error?.description.contains("127.0.0.1:1") == true)
      #expect(error?.description.contains("secret") == false)
    }

    /// The error names the version that the first line of the server contains.
    @Test(arguments: [
      (#","version":"2.1.9""#, #"got nats-server "2.1.9" at nats://127.0.0.1:"#),
      ("", "a server that tells no version"),
      (#","version":"a\r\n\u0000""#, #"got nats-server "a???" at"#),
    ]) func aServerThatIsTooOldForHeadersIsNamed(version: String, text: String) async throws {
      let server = try TextServer(
        #"INFO {"server_id":"A","proto":1,"max_payload":1048576\#(version)}"# + "\r\n", pongs: 1)
      let error = await transportError { _ = try await NATS.connect("nats://anna:secret@127.0.0.1:\(server.port)") }
      #expect(error?.code == .refused)
      let found = error?.description ?? "no error"
      #expect(found.hasPrefix("expected a server with headers: nats-server 2.2 or later, without no_header_support"))
      #expect(found.contains(text) && !found.contains("secret"), "\(found)")
      #expect(found.hasSuffix("at nats://127.0.0.1:\(server.port)"), "\(found)")
    }

    @Test func aServerWhoseConfigurationHasNoHeadersIsNamed() async throws {
      let server = try NATSServer("no_header_support: true", hasStreams: false)
      let error = await transportError { try await server.connect().close() }
      #expect(error?.code == .refused)
      #expect(
        error?.description.contains("without no_header_support; got nats-server \"2.") == true,
        "\(error.map { "\($0)" } ?? "no error")")
    }

    @Test func theFirstServerThatIsThereIsTaken() async throws {
      let server = try NATSServer(hasStreams: false)
      try await server.connect().close()
      let nats = try await NATS.connect("nats://127.0.0.1:1", server.address)
      await nats.close()
    }

    @Test func credentialsThatTheServerRefusesAreNamedWithoutSecrets() async throws {
      let server = try NATSServer("authorization { user: anna, password: right }", hasStreams: false)
      try await server.connect(credentials: .user("anna", password: "right")).close()
      for credentials in [NATS.Credentials.user("anna", password: "wrong-secret"), .token("wrong-secret"), nil] {
        let error = await transportError { _ = try await NATS.connect(server.address, credentials: credentials) }
        #expect(error?.code == .refused)
        #expect(error?.description.contains("credentials") == true)
        #expect(error?.description.contains("secret") == false)
      }
    }

    @Test func aTokenIsTaken() async throws {
      let server = try NATSServer("authorization { token: right }", hasStreams: false)
      try await server.connect(credentials: .token("right")).close()
    }

    @Test func aUserWithAnNkeyIsTaken() async throws {
      // A key pair that was made for this test.
      let key = "UDK6HKQ3DSRCJI2BPYPLVQBLFBOFBYX2HUTGBTLCGMH2NBEHWGOMEOJH"
      let server = try NATSServer("authorization { users: [{ nkey: \(key) }] }", hasStreams: false)
      let file = "\(server.folder)/seed"
      try "SUAD7LMRTZCE6X4QYUBA37SALQKPIW2AR6PVGGHOEE2B3R2J3SUJMTVL6A".write(
        toFile: file, atomically: true, encoding: .utf8)
      try await server.connect(credentials: .nkey(key, seedFile: file)).close()
      #expect(await transportError { _ = try await NATS.connect(server.address) }?.code == .refused)
    }

    @Test func credentialsThatCannotBeReadAreNamed() async throws {
      let file = NSTemporaryDirectory() + "eventing-\(UUID().uuidString)"
      for (credentials, text) in [
        (NATS.Credentials.file(file), "expected a credentials file at \(file); there is none"),
        (.file(NSTemporaryDirectory()), "there is a folder"),
        (
          .nkey("UDK6HKQ3DSRCJI2BPYPLVQBLFBOFBYX2HUTGBTLCGMH2NBEHWGOMEOJH", seedFile: file),
          "expected a file with a seed"
        ),
        (.nkey("short", seedFile: file), "56 characters"), (.token(""), "expected a token"),
        (.user("", password: "x"), "expected the name of a user"),
      ] {
        let error = await transportError { _ = try await NATS.connect("nats://127.0.0.1:1", credentials: credentials) }
        #expect(error?.code == .badOption)
        #expect(error?.description.contains(text) == true, "\(error.map { "\($0)" } ?? "no error")")
      }
      try "no credentials".write(toFile: file, atomically: true, encoding: .utf8)
      defer { try? FileManager.default.removeItem(atPath: file) }
      let error = await transportError { _ = try await NATS.connect("nats://127.0.0.1:1", credentials: .file(file)) }
      #expect(error?.description.contains("expected credentials with a user JWT in \(file)") == true)
    }

    @Test func aCertificateThatCannotBeReadIsNamed() async throws {
      let error = await transportError {
        _ = try await NATS.connect("tls://127.0.0.1:1", tls: .trusting("/no/such/file.pem"))
      }
      #expect(error?.description.contains("expected a PEM file at /no/such/file.pem; there is none") == true)
    }

    @Test func aServerWithoutTLSIsNamed() async throws {
      let server = try NATSServer(hasStreams: false)
      try await server.connect().close()
      let address = server.address.replacingOccurrences(of: "nats://", with: "tls://")
      let error = await transportError { _ = try await NATS.connect(address, tls: .system) }
      #expect(error?.code == .refused)
      #expect(
        error?.description.contains("expected a TLS connection") == true, "\(error.map { "\($0)" } ?? "no error")")
    }

    @Test func aClosedConnectionRefusesEverything() async throws {
      let server = try NATSServer()
      let nats = try await server.connect()
      let stream = try await nats.stream("TEST", subjects: ["test.>"])
      await nats.close()
      for transport in [stream, nats.plain] {
        #expect(
          await transportError { _ = try await transport.publish(RemoteMessage(), to: "test.a") }?.code == .closed)
        let event = RemoteEvent<Int>("test.a", over: transport)
        #expect(await transportError { try await event.listen(as: "one") }?.code == .closed)
      }
    }
  }
#endif
