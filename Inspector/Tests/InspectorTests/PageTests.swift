import FakeApp
import Foundation
import InspectorClient
import Testing

@testable import InspectorPage

@Suite struct PageTests {
  @Test func thePageComesWithAStrictPolicyAndNoCORS() async throws {
    try await withPage { _, server, _ in
      for path in ["/", "/style.css", "/app.js", "/table.js"] {
        let answer = await server.request("GET", path, origin: server.origin)
        #expect(status(answer) == 200)
        let head = answer.components(separatedBy: "\r\n\r\n")[0].lowercased()
        #expect(head.contains("content-security-policy: default-src 'none'"))
        #expect(head.contains("x-content-type-options: nosniff"))
        #expect(!head.contains("access-control"))
        #expect(!head.contains("unsafe-"))
      }
      let answer = await server.request("GET", "/")
      #expect(!answer.contains(server.access.token))
      for path in ["/nothing", "/../Package.swift", "/%2e%2e/x", "/index.html"] {
        #expect(status(await server.request("GET", path, token: server.access.token)) == 404)
      }
    }
  }

  @Test func theStreamNeedsTheToken() async throws {
    try await withPage { app, server, _ in
      let token = server.access.token
      #expect(token.count == 32 && server.url == "\(server.origin)/#\(token)")
      #expect(status(await server.request("GET", "/stream")) == 401)
      #expect(status(await server.request("GET", "/stream", token: String(token.dropLast()))) == 401)
      #expect(status(await server.request("GET", "/stream", token: token.uppercased() + "x")) == 401)
      #expect(status(await server.request("GET", "/stream?token=\(token)")) == 401)
      let answer = await server.request("GET", "/stream", token: token, until: "orders placed")
      #expect(status(answer) == 200 && answer.contains("text/event-stream") && answer.contains("event: link"))
    }
  }

  @Test func otherHostsAndOriginsAreRefused() async throws {
    try await withPage { _, server, _ in
      let (token, port) = (server.access.token, server.gate.port)
      for host in [
        "evil.example", "evil.example:\(port)", "127.0.0.1", "127.0.0.1:\(port &+ 1)", "127.0.0.1:\(port).evil.example",
        "",
      ] {
        #expect(status(await server.request("GET", "/stream", host: host, token: token)) == 421, "\(host)")
        #expect(status(await server.request("GET", "/", host: host)) == 421, "\(host)")
      }
      for origin in [
        "http://evil.example", "null", "https://127.0.0.1:\(port)", "http://localhost:\(port)", "http://127.0.0.1",
      ] {
        #expect(status(await server.request("GET", "/stream", origin: origin, token: token)) == 403, "\(origin)")
      }
      #expect(
        status(await server.request("GET", "/stream", token: token, more: "Sec-Fetch-Site: cross-site\r\n")) == 403)
      // A page that was opened at `localhost` has `localhost` in its origin, which is allowed, too.
      let local = "localhost:\(port)"
      #expect(status(await server.request("GET", "/", host: local, origin: "http://\(local)")) == 200)
    }
  }

  @Test func changesNeedAnOriginAndTheToken() async throws {
    try await withPage(control: true) { app, server, _ in
      let (token, body) = (server.access.token, #"{"event":4,"handler":null,"holding":"latest"}"#)
      #expect(status(await server.request("POST", "/lock", token: token, body: body)) == 403)
      #expect(
        status(await server.request("POST", "/lock", origin: "http://evil.example", token: token, body: body)) == 403)
      #expect(status(await server.request("POST", "/lock", origin: server.origin, body: body)) == 401)
      #expect(status(await server.request("OPTIONS", "/lock", origin: server.origin, token: token)) == 405)
      #expect(app.requests.allSatisfy { !$0.contains("lock") })
      for bad in ["{}", "[]", "x", #"{"event":"4"}"#, #"{"event":4,"holding":"}"}"#] {
        #expect(
          status(await server.request("POST", "/lock", origin: server.origin, token: token, body: bad)) == 400, "\(bad)"
        )
      }
      let answer = await server.request("POST", "/lock", origin: server.origin, token: token, body: body)
      #expect(status(answer) == 200 && answer.hasSuffix(#"{"found":true}"#))
      #expect(app.change { $0.events[4]?["locked"] } == .bool(true))
      #expect(status(await server.request("POST", "/unlock", origin: server.origin, token: token, body: body)) == 200)
    }
  }

  @Test func withoutControlNothingIsLocked() async throws {
    try await withPage { app, server, _ in
      let answer = await server.request(
        "POST", "/lock", origin: server.origin, token: server.access.token, body: #"{"event":4,"holding":"latest"}"#)
      #expect(status(answer) == 409 && answer.contains("--control"))
      #expect(app.change { $0.events[4]?["locked"] } == .bool(false))
    }
  }

  @Test func longLinesAreRefusedBeforeTheyAreRead() async throws {
    try await withPage { _, server, _ in
      let port = server.gate.port
      let host = "Host: 127.0.0.1:\(port)\r\n"
      let long = String(repeating: "a", count: 10 << 20)
      // Ten megabytes without the end of a line: refused after some thousand bytes.
      #expect(
        ["", "431"].contains(await exchange(port, long).split(separator: " ").dropFirst().first.map(String.init) ?? ""))
      let almost = String(repeating: "a", count: 2_100)
      #expect(status(await exchange(port, "GET /\(almost) HTTP/1.1\r\n\(host)\r\n")) == 431)
      let header = String(repeating: "a", count: 4_200)
      #expect(status(await exchange(port, "GET / HTTP/1.1\r\n\(host)X: \(header)\r\n\r\n")) == 431)
      let many = String(repeating: "X-Y: \(String(repeating: "z", count: 90))\r\n", count: 200)
      #expect(status(await exchange(port, "GET / HTTP/1.1\r\n\(host)\(many)\r\n")) == 431)
      // The page is still served.
      #expect(status(await server.request("GET", "/")) == 200)
    }
  }

  @Test(arguments: [
    ("GET / HTTP/1.1\r\nHost: H\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: H\r\nHost: H\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: H\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", 400),
    ("POST / HTTP/1.1\r\nHost: H\r\nContent-Length: 65537\r\n\r\n", 413),
    ("POST / HTTP/1.1\r\nHost: H\r\nContent-Length: -1\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: H\r\nContent-Length: 99999999999999999999\r\n\r\n", 413),
    ("GET / HTTP/1.0\r\nHost: H\r\n\r\n", 400),
    ("GET http://evil.example/ HTTP/1.1\r\nHost: H\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: H\r\n folded: x\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHo\u{1}st: H\r\n\r\n", 400), ("GET /\u{0} HTTP/1.1\r\nHost: H\r\n\r\n", 400),
    ("nonsense\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nno colon\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost: H\r\nUpgrade: websocket\r\n\r\n", 400),
  ])
  func whatIsNoPlainRequestIsRefused(_ text: String, _ code: Int) async throws {
    try await withPage { _, server, _ in
      let host = "127.0.0.1:\(server.gate.port)"
      #expect(status(await exchange(server.gate.port, text.replacing("Host: H", with: "Host: \(host)"))) == code)
    }
  }

  @Test func aRequestThatDoesNotEndIsGivenUp() async throws {
    try await withPage { _, server, _ in
      #expect(status(await exchange(server.gate.port, "GET / HTTP/1.1\r\nHost: ")) == 408)
    }
  }

  @Test func aConnectionCarriesSeveralRequests() async throws {
    try await withPage { _, server, _ in
      let one = "GET /icon.svg HTTP/1.1\r\nHost: 127.0.0.1:\(server.gate.port)\r\nConnection: keep-alive\r\n\r\n"
      let last = one.replacing("keep-alive", with: "close")
      let answer = await exchange(server.gate.port, one + one + last)
      #expect(answer.components(separatedBy: "HTTP/1.1 200").count == 4)
    }
  }

  @Test func randomBytesDoNoHarm() async throws {
    try await withPage { _, server, _ in
      for _ in 0..<40 {
        let bytes = (0..<Int.random(in: 1..<3_000)).map { _ in Unicode.Scalar(UInt8.random(in: 0...127)) }
        var text = ""
        text.unicodeScalars.append(contentsOf: bytes)
        let code = status(await exchange(server.gate.port, text + "\r\n\r\n"))
        #expect(code == nil || code! >= 400)
      }
      #expect(status(await server.request("GET", "/")) == 200)
    }
  }

  @Test func aTraceComesAsAFile() async throws {
    try await withPage { _, server, feed in
      let token = server.access.token
      _ = await server.request("GET", "/stream", token: token, until: "orders placed")
      let begun = await server.request(
        "POST", "/trace/start", origin: server.origin, token: token, body: #"{"events":[1]}"#)
      #expect(begun.hasSuffix(#"{"trace":1,"megabytes":4}"#))
      let answer = await server.request(
        "POST", "/trace/stop", origin: server.origin, token: token, body: #"{"trace":1,"events":[1]}"#)
      #expect(
        status(answer) == 200 && answer.contains(#""traceEvents""#) && answer.contains(#""name":"orders placed""#))
      let again = await server.request(
        "POST", "/trace/stop", origin: server.origin, token: token, body: #"{"trace":1}"#)
      #expect(status(again) == 409)
    }
  }

  /// The page requests a trace of one second, and is closed before it stops the trace.
  @Test func aTraceThatNobodyStopsIsStopped() async throws {
    try await withLink { app, link, _ in
      let (feed, session) = (Feed(traceGrace: .zero), try #require(link.session))
      func answer(_ verb: PageVerb, _ body: String) async throws -> String {
        try await verb.answer(try #require(try JSONSlice(Array(body.utf8)).members), session, feed)
      }
      let begun = try await answer(.traceStart, #"{"events":[1],"seconds":1}"#)
      #expect(begun == #"{"trace":1,"megabytes":4}"#)
      try await eventually("the trace is left running") { app.requests.contains { $0.contains(#""action":"stop""#) } }
      // The app has ended trace 1, so a request to stop it fails.
      await #expect(throws: LinkError.self) { try await answer(.traceStop, #"{"trace":1}"#) }
    }
  }

  @Test func aPageThatClosesIsForgotten() async throws {
    try await withPage { _, server, feed in
      _ = await server.request("GET", "/stream", token: server.access.token, until: "event: update")
      try await eventually("a reader is left") { feed.readerCount == 0 }
    }
  }

  @Test func thePageLearnsThatTheAppEndedAndReturned() async throws {
    try await withPage { app, server, _ in
      let stream = Task {
        await server.request("GET", "/stream", token: server.access.token, until: "\"connected\":false")
      }
      app.end()
      #expect(await stream.value.contains(#""connected":false"#))
      let next = try FakeApp(path: app.path, world: .shop())
      defer { next.end() }
      let answer = await server.request("GET", "/stream", token: server.access.token, until: "orders placed")
      #expect(answer.contains("orders placed"))
    }
  }
}
