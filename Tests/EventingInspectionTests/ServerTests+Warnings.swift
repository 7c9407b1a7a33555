import Foundation
import Synchronization
import Testing

@testable import Eventing
@testable import EventingInspection

// Tests of waits, of warnings, and of the rows of events that are released.
extension ServerTests {
  @Test func aCallThatHangsIsStuck() async throws {
    try await Serving.with { inspection in
      let (event, goOn) = (Event<Int>("hangs"), Signal())
      let mayGoOn = goOn.payloads()
      let token = event.addHandler(.named("slow"), on: .inOrder) { (_: Int) async in for await _ in mayGoOn { return } }
      event.post(1)
      let client = try TestClient(inspection.path)
      try await client.sayHello()
      var warnings: [[String: Any]] = []
      while warnings.isEmpty {
        warnings = (try await client.rows("warnings", events: [event.identity.number])).filter {
          $0["code"] as? String == "stuck"
        }
        try await Task.sleep(for: .milliseconds(20))
      }
      #expect(warnings[0]["handler"] as? UInt64 == token.id && warnings[0].keys.count == 8)
      #expect((warnings[0]["text"] as? String)?.contains("\"slow\" of \"hangs\"") == true)
      goOn.post(())
      await event.quiesce()
    }
  }

  @Test(arguments: [
    "{\"do\":\"warnings\"}", "{\"id\":1,\"do\":\"snapshot\",\"events\":7}",
    "{\"id\":1,\"do\":\"snapshot\",\"events\":[\"7\"]}", "{\"id\":1,\"do\":\"subscribe\",\"interval\":\"soon\"}",
    "{\"id\":1,\"do\":\"trace\",\"action\":\"start\",\"events\":[\"7\"]}",
  ]) func aKeyOfTheWrongTypeIsNamed(line: String) async throws {
    try await Serving.with { inspection in
      let client = try TestClient(inspection.path)
      try await client.sayHello()
      try await client.send(line + "\n")
      let answer = try await client.line()
      let error = try #require(answer["error"] as? [String: Any])
      #expect(answer["ok"] as? Bool == false && error["code"] as? String == "request")
      #expect((error["message"] as? String)?.hasPrefix("expected ") == true)
    }
  }

  @Test func aWaitIsToldWhileItLasts() async throws {
    try await Serving.with { inspection in
      let (event, goOn, entered) = (Event<Int>("waited"), Signal(), Signal())
      let waiting = (goOn.payloads(), entered.payloads())
      let token = event.addHandler(on: .inOrder) { (_: Int) async in
        entered.post()
        for await _ in waiting.0 { return }
      }
      let client = try TestClient(inspection.path)
      try await client.sayHello()
      let sending = Task { await event.send(1) }
      for await _ in waiting.1 { break }
      var rows: [[String: Any]] = []
      while rows.isEmpty { rows = try await client.rows("waits", events: [event.identity.number]) }
      #expect(rows[0]["kind"] as? String == "send" && rows[0]["sequence"] as? Int == 1)
      #expect(rows[0]["handlers"] as? [UInt64] == [token.id] && rows[0]["waitsFor"] as? Int == 1)
      goOn.post()
      _ = await sending.value
      while !rows.isEmpty { rows = try await client.rows("waits", events: [event.identity.number]) }
    }
  }

  /// Two handlers send to each other's events, and wait. The library breaks up the cycle at once,
  /// so no poll sees it. The next poll comes more than a second later, and still finds the warning.
  @Test func aWaitThatWasBrokenUpIsAWarning() async throws {
    try await Serving.with { inspection in
      let (ping, pong) = (Event<Int>("ping"), Event<Int>("pong"))
      inspection.include(ping)
      inspection.include(pong)
      let client = try TestClient(inspection.path)
      try await client.sayHello()
      _ = try await client.rows("warnings")
      let token = ping.addHandler(.named("to pong")) { (number: Int) async in await pong.send(number) }
      pong.addHandler(.named("to ping")) { (number: Int) async in if number < 2 { await ping.send(number + 1) } }
      await ping.send(1)
      await pong.quiesce()
      try await Task.sleep(for: .milliseconds(1_100))
      let found = try await client.rows("warnings", events: [ping.identity.number]).filter {
        $0["code"] as? String == "deferred"
      }
      let text = try #require(found.first?["text"] as? String)
      #expect(text.hasPrefix("A deadlock was avoided: a send of \"ping\" from a call of \"to ping\""), "\(text)")
      #expect(text.hasSuffix(" does not wait for \"to pong\", which waits for it."), "\(text)")
      #expect(found.first?["handler"] as? UInt64 == token.id)
    }
  }

  @Test func aCallThatWaitsForTheNextPayloadIsNamed() async throws {
    try await Serving.with { inspection in
      let (event, asked) = (Event<Int>("answers"), Event<Int>("asked"))
      inspection.include(event)
      let client = try TestClient(inspection.path)
      try await client.sayHello()
      let token = asked.addHandler { (_: Int) async in _ = try? await event.next(within: .seconds(1_000)) { $0 > 1 } }
      asked.post(1)
      func rows() async throws -> [[String: Any]] { try await client.rows("waits", events: [event.identity.number]) }
      var (found, patience) = ([[String: Any]](), Patience())
      while found.isEmpty, patience.isLeft() { found = try await rows() }
      let wait = try #require(found.first)
      #expect(wait["kind"] as? String == "next" && wait["sequence"] is NSNull && wait["waitsFor"] as? Int == 0)
      #expect(wait["by"] as? UInt64 == token.id)
      event.post(1)
      #expect(try await rows().first?["id"] as? Int == wait["id"] as? Int)
      event.post(2)
      patience = Patience()
      while !found.isEmpty, patience.isLeft() { found = try await rows() }
      #expect(found.isEmpty)
      await asked.quiesce()
    }
  }

  @Test func anEventThatGoesIsToldOfAsGone() async throws {
    try await Serving.with { inspection in
      var event: Event<Int>? = Event<Int>("going")
      event?.addHandler { _ in }
      let id = try #require(event?.identity.number)
      let client = try TestClient(inspection.path)
      try await client.sayHello()
      _ = try await client.request(["do": "subscribe", "interval": 50, "parts": ["events"], "events": [id]])
      var isThere = false
      while !isThere {
        let rows = ((try await client.line()["parts"] as? [String: Any])?["events"] as? [[String: Any]]) ?? []
        isThere = rows.contains { $0["id"] as? UInt64 == id }
      }
      event = nil
      while isThere {
        let update = try await client.line()
        let gone = (update["gone"] as? [String: Any])?["events"] as? [UInt64] ?? []
        let rows = ((update["parts"] as? [String: Any])?["events"] as? [[String: Any]]) ?? []
        // Most updates list the changed rows, and name the removed rows in `gone`. A *whole* update
        // lists all rows that exist, and names no removed row. So the event is also gone if a whole
        // update does not list the event. A whole update that was polled before the release of the
        // event still lists the event. Then the loop waits for the next update.
        let isLeftOut = update["whole"] as? Bool == true && !rows.contains { $0["id"] as? UInt64 == id }
        if gone.contains(id) || isLeftOut { isThere = false }
      }
      let answer = try await client.request(["do": "snapshot", "events": [id]])
      #expect((answer["error"] as? [String: Any])?["code"] as? String == "event")
    }
  }

  @Test func warningsTellOfDropsFailuresAndMany() async throws {
    try await Serving.with { inspection in
      let event = Event<Int>("warned")
      let goOn = Signal()
      let waiting = goOn.payloads()
      event.addHandler(.named("drops"), .buffering(.oldest(1)), on: .inOrder) { (_: Int) async in
        for await _ in waiting { return }
      }
      event.addHandler(.named("fails")) { _ in throw CancellationError() }
      for _ in 0..<101 { event.addHandler { _ in } }
      for number in 0..<20 { event.post(number) }
      let client = try TestClient(inspection.path)
      try await client.sayHello()
      var codes: Set<String> = []
      let isComplete = try await {
        for _ in 0..<2_000 {
          event.post(0)  // the warning of a drop stays for ten seconds only
          for row in try await client.rows("warnings", events: [event.identity.number]) {
            codes.insert(try #require(row["code"] as? String))
          }
          if codes.isSuperset(of: ["dropping", "failing", "many"]) { return true }
          try await Task.sleep(for: .milliseconds(20))
        }
        return false
      }()
      #expect(isComplete, "got \(codes.sorted())")
      event.removeAll()
      goOn.finish()
    }
  }
}
