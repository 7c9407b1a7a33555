#if NATS
  import Eventing
  @testable import EventingNATS
  import Foundation
  import Testing

  /// libnats 3.4.1 does not send a signature that begins with a zero byte, so a login with it
  /// fails. The engine at a first connect, and libnats after a loss, must then log in again. The
  /// server sends another nonce to each login, so the next signature is another one.
  @Suite(.serialized, .timeLimit(.minutes(1))) struct SignedLoginTests {
    private let folder: String
    private let openssl: OpenSSL

    init() throws {
      folder = NSTemporaryDirectory() + "eventing-login-\(UUID().uuidString)"
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      openssl = OpenSSL(folder: folder)
    }

    /// Two refused logins in a row would make libnats close the connection for ever.
    @Test func signaturesThatCannotBeSentEndNoConnection() async throws {
      defer { try? FileManager.default.removeItem(atPath: folder) }
      let key = try NKey(.user, openssl)
      try openssl.write(key.seed, to: "seed")
      func nonce(_ isGood: (UInt8) -> Bool) -> String? {
        (0..<100_000).map { "nonce\($0)" }.lazy.first { nonce in
          (try? signature(of: nonce, seed: key.seed)).flatMap(\.first).map(isGood) == true
        }
      }
      let (good, bad) = (try #require(nonce { $0 != 0 }), try #require(nonce { $0 == 0 }))
      let listener = try LoopbackSocket()
      defer { listener.end() }
      let logins = Guarded<[String]>([])
      listen(listener.descriptor, 16)
      Foundation.Thread.detachNewThread {
        var (count, open) = (0, [LoopbackSocket]())
        while let connection = listener.accepted() {
          count += 1
          // The nonces of the first login, and of two logins after the loss, have signatures that
          // begin with a zero byte.
          let info = TextServer.info(#","auth_required":true,"nonce":"\#([1, 3, 4].contains(count) ? bad : good)""#)
          connection.send(Array(info.utf8)[...])
          var text = ""
          while !text.contains("PING\r\n") {
            let bytes = connection.receive()
            if bytes.isEmpty { break }
            text += String(decoding: bytes, as: UTF8.self)
          }
          let isSigned = text.contains(#""sig":""#)
          if !text.isEmpty { logins.withLock { $0.append(isSigned ? "signed" : "not signed") } }
          connection.send(Array((isSigned ? "PONG\r\n" : "-ERR 'Authorization Violation'\r\n").utf8)[...])
          if count == 2 { connection.end() } else { open.append(connection) }
        }
      }
      let options = try ConnectOptions(
        ["nats://127.0.0.1:\(listener.port)"], .nkey(key.publicKey, seedFile: openssl.path("seed")), nil,
        within: .seconds(20))
      let kinds = Guarded<[String]>([])
      let events = ConnectionEvents(options.secrets, options.loginFile)
      events.receive { kind in kinds.withLock { $0.append("\(kind)") } }
      let connection = try await onOwnThread { try options.connect(events) }
      try await eventually("expected to reconnect, got \(kinds.withLock { $0 })") {
        kinds.withLock { $0.contains("reconnected") || $0.contains("closed") }
      }
      #expect(kinds.withLock { $0 } == ["lost", "reconnected"])
      #expect(logins.withLock { $0 } == ["signed", "signed"])
      connection.close()
    }

    @Test func theFileOfALoginIsRead() throws {
      defer { try? FileManager.default.removeItem(atPath: folder) }
      let login = LoginFile(path: openssl.path("user.creds"))
      #expect(throws: TransportError.self) { try login.jwt() }
      try openssl.write(
        """
        -----BEGIN NATS USER JWT-----\r
        eyJ0.a.b\r
        ------END NATS USER JWT------

        NKEYs are sensitive.

        -----BEGIN USER NKEY SEED-----
          SUABC
        ------END USER NKEY SEED------
        """, to: "user.creds")
      #expect(try login.jwt() == "eyJ0.a.b" && login.seed() == "SUABC")
      try openssl.write("nothing", to: "user.creds")
      #expect(throws: TransportError.self) { try login.jwt() }
      #expect(throws: TransportError.self) { try login.seed() }
    }
  }
#endif
