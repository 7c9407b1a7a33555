#if NATS
  import Eventing
  import EventingNATS
  import Foundation
  import Testing

  /// No text shows a password, a token, a seed, or what is in a credentials file.
  @Suite(.serialized, .timeLimit(.minutes(1))) struct SecretTests {
    private static let seed = "SUAD7LMRTZCE6X4QYUBA37SALQKPIW2AR6PVGGHOEE2B3R2J3SUJMTVL6A"

    /// Returns the texts of a value by interpolation, `String(reflecting:)`, `dump` and `Mirror`.
    private func texts(_ value: Any) -> String {
      var dumped = ""
      dump(value, to: &dumped)
      let children = Mirror(reflecting: value).children.map { "\($0.label ?? "") \($0.value)" }
      return "\(value) \(String(reflecting: value)) \(dumped) \(children)"
    }

    @Test func credentialsPrintNoSecrets() {
      for credentials in [
        NATS.Credentials.user("anna", password: "open-sesame"), .token("open-sesame"), .file("open-sesame\n-----"),
        .nkey("U", seedFile: Self.seed),
      ] {
        for value in [credentials as Any, Optional(credentials) as Any, [credentials], ["a": credentials]] {
          let text = texts(value)
          #expect(!text.contains("sesame") && !text.contains(Self.seed), "\(text)")
        }
      }
    }

    @Test(arguments: [
      "nats://anna:open-sesame@b us", "nats://anna:open sesame@127.0.0.1:1", "nats://anna:op@en-sesame@127.0.0.1:1",
      "nats://anna:open%2Dsesame@127.0.0.1:1", "nats://anna:open-sesame", "nats://open-sesame@127.0.0.1:1",
      "http://anna:open/sesame@bus", "anna:open-sesame@bus", "nats://127.0.0.1:1?password=open-sesame",
      "nats://127.0.0.1:1#open-sesame", "nats://127.0.0.1:1/open-sesame", "nats://anna:open@sesame:x",
      "nats://open sesame@127.0.0.1:1", "tls://anna:open%20sesame@127.0.0.1:1",
    ])
    func addressesAreShownWithoutPasswords(address: String) async throws {
      for addresses in [[address], ["nats://127.0.0.1:1", address]] {
        let error = await transportError { _ = try await NATS.connect(addresses) }
        let text = "\(error.map { texts($0) } ?? "no error")"
        // The host of an address begins behind the last `@`, and an error may show the host. In
        // `nats://anna:open@sesame:x` the password is `open` and the host is `sesame`. So for this
        // address, the error may contain `sesame`.
        if !address.contains("@sesame:x") { #expect(!text.contains("sesame"), "\(text)") }
        #expect(error != nil && !text.contains("open"), "\(text)")
      }
    }

    @Test func aPathThatIsNoPathIsNotShown() async throws {
      let key = "UDK6HKQ3DSRCJI2BPYPLVQBLFBOFBYX2HUTGBTLCGMH2NBEHWGOMEOJH"
      for credentials in [
        NATS.Credentials.file("-----BEGIN NATS USER JWT-----\neyJ0\n\(Self.seed)"), .nkey(key, seedFile: Self.seed),
      ] {
        let error = await transportError { _ = try await NATS.connect("nats://127.0.0.1:1", credentials: credentials) }
        #expect(error?.code == .badOption)
        #expect(error?.description.contains("a text that is no path") == true)
        #expect(error.map { !texts($0).contains(Self.seed) && !texts($0).contains("eyJ0") } == true)
      }
    }

    /// The server repeats the secret in its error text when it refuses the login.
    @Test(arguments: ["open-sesame", "open sesame", "p@ss w:rd", "abc"])
    func whatTheServerSaysIsShownWithoutSecrets(secret: String) async throws {
      let server = try TextServer(
        TextServer.info(), pongs: .max, answer: { _ in "-ERR 'Authorization Violation: \(secret) is wrong'\r\n" })
      for credentials in [NATS.Credentials.user("anna", password: secret), .token(secret)] {
        let error = await transportError {
          _ = try await NATS.connect("nats://127.0.0.1:\(server.port)", credentials: credentials)
        }
        let text = "\(error.map { texts($0) } ?? "no error")"
        #expect(error?.code == .refused && !text.contains(secret), "\(text)")
      }
    }

    /// The server repeats the password in an error after the connection was made.
    @Test func incidentsHaveNoSecrets() async throws {
      let server = try TextServer(TextServer.info(), pongs: 2)
      let nats = try await NATS.connect(
        "nats://127.0.0.1:\(server.port)", credentials: .user("anna", password: "open sesame"))
      let incidents = Guarded<[TransportIncident]>([])
      nats.incidents.addHandler { incident in incidents.withLock { $0.append(incident) } }
      server.say("-ERR 'Permissions Violation for Publish to \"a\" with open sesame'\r\n")
      try await eventually("expected an incident") { incidents.withLock { !$0.isEmpty } }
      let text = "\(texts(nats)) \(incidents.withLock { texts($0) })"
      #expect(text.contains("Permissions Violation") && !text.contains("sesame"), "\(text)")
      await nats.close(within: .milliseconds(10))
    }
  }
#endif
