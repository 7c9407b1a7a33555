import Foundation
import Synchronization
import Testing

@testable import Eventing
@testable import EventingInspection

/// Tests of the protocol over the socket, with clients that obey the protocol.
@Suite(.serialized) struct ServerTests {
  @Test func theServerSpeaksFirst() async throws {
    try await Serving.with { inspection in
      let hello = try await TestClient(inspection.path).sayHello()
      #expect(hello["push"] as? String == "hello" && hello["protocol"] as? Int == 1)
      #expect(hello["pid"] as? Int == Int(getpid()) && hello["control"] as? Bool == false)
      let limits = try #require(hello["limits"] as? [String: Int])
      #expect(limits["line"] == 65_536 && limits["reply"] == 1_048_576 && limits["clients"] == 8)
    }
  }

  @Test func everyKeyOfARowIsThere() async throws {
    try await Serving.with { inspection in
      let event = Event<Int>("rows")
      event.addHandler(.named("lane"), .tagged("b", "a"), on: .main) { (_: Int) in }
      event.post(1)
      let client = try TestClient(inspection.path)
      try await client.sayHello()
      let id = event.identity.number
      let row = try #require(try await client.rows("events", events: [id]).first)
      let keys = "busyAt finished handlers id kind locked madeAt name of sequence type unheard waiting"
      #expect(row.keys.sorted().joined(separator: " ") == keys)
      #expect(row["name"] as? String == "rows" && row["type"] as? String == "Int" && row["sequence"] as? Int == 1)
      let handler = try #require(try await client.rows("handlers", events: [id]).first)
      let handlerKeys =
        "calls delivery dropped ended event failed file held id lane line locked name once owner ownerType p50Ns p99Ns "
        + "priority running runningAt skipped tags timed waiting"
      #expect(handler.keys.sorted().joined(separator: " ") == handlerKeys)
      #expect(handler["tags"] as? [String] == ["a", "b"] && handler["file"] as? String == #fileID)
      let edge = try #require(try await client.rows("graph", events: [id]).first)
      #expect(edge["kind"] as? String == "lane" && edge["label"] as? String == "main")
      #expect(edge.keys.sorted() == ["count", "from", "kind", "label", "to"])
      await event.quiesce()
    }
  }

  @Test func anUpdateHasWhatChangedAndWhatWent() async throws {
    try await Serving.with { inspection in
      let (event, still) = (Event<Int>("changes"), Event<Int>("still"))
      let token = event.addHandler { _ in }
      let client = try TestClient(inspection.path)
      try await client.sayHello()
      let ids = [event.identity.number, still.identity.number]
      let answer = try await client.request([
        "do": "subscribe", "interval": 50, "parts": ["events", "handlers"], "events": ids,
      ])
      #expect(answer["interval"] as? Int == 50)
      func update() async throws -> [String: Any] {
        let line = try await client.line()
        #expect(line["push"] as? String == "update" && line["sub"] as? Int == answer["sub"] as? Int)
        return line
      }
      func rows(_ update: [String: Any], _ part: String) -> [[String: Any]] {
        (update["parts"] as? [String: Any])?[part] as? [[String: Any]] ?? []
      }
      let first = try await update()
      #expect(first["whole"] as? Bool == true && first["n"] as? Int == 1 && rows(first, "events").count == 2)
      // The server remembers a limited number of removed rows, of all events of the process. If
      // other tests, which run at the same time, remove too many between two updates, the next
      // update is whole: it has all rows.
      var sequence: Int?
      var handlers = Set(rows(first, "handlers").compactMap { $0["id"] as? UInt64 })
      var number = 1
      func look() async throws {
        let next = try await update()
        number += 1
        #expect(next["n"] as? Int == number)
        let events = rows(next, "events")
        if next["whole"] as? Bool == true {
          handlers = []
        } else {
          #expect(events.allSatisfy { $0["id"] as? UInt64 == ids[0] })
        }
        if let row = events.first(where: { $0["id"] as? UInt64 == ids[0] }) { sequence = row["sequence"] as? Int }
        for row in rows(next, "handlers") { if let id = row["id"] as? UInt64 { handlers.insert(id) } }
        handlers.subtract((next["gone"] as? [String: Any])?["handlers"] as? [UInt64] ?? [])
      }
      #expect(handlers == [token.id])
      event.post(1)
      while sequence != 1 { try await look() }  // an update with all rows, polled before the post, has the sequence 0
      event.remove(token)
      while !handlers.isEmpty { try await look() }
      let ended = try await client.request(["do": "unsubscribe", "sub": try #require(answer["sub"])])
      #expect(ended["ok"] as? Bool == true)
      withExtendedLifetime((event, still)) {}
    }
  }

  @Test func aLongAnswerComesInLines() async throws {
    var limits = Serving.limits
    limits.reply = 4_096
    try await Serving.with(limits: limits) { inspection in
      let event = Event<Int>("long")
      let tokens = (0..<100).map { number in event.addHandler(.named("handler \(number)")) { _ in } }
      let client = try TestClient(inspection.path)
      try await client.sayHello()
      let rows = try await client.rows("handlers", events: [event.identity.number])
      #expect(rows.map { $0["id"] as? UInt64 } == tokens.map(\.id))
      #expect(client.received.split(separator: 10).allSatisfy { $0.count < 4_096 })
    }
  }

  @Test func errorsNameTheirCause() async throws {
    try await Serving.with { inspection in
      let client = try TestClient(inspection.path)
      try await client.sayHello()
      func code(_ request: [String: Any]) async throws -> String? {
        (try await client.request(request)["error"] as? [String: Any])?["code"] as? String
      }
      #expect(try await code(["do": "snapshot", "events": [1 << 50]]) == "event")
      #expect(try await code(["do": "unsubscribe", "sub": 1 << 50]) == "sub")
      #expect(try await code(["do": "lock", "event": 1, "handler": NSNull()]) == "control")
      #expect(try await code(["do": "paint", "events": [1]]) == "unknown")
      #expect(try await code(["do": "snapshot", "parts": 3]) == "request")
      #expect(inspection.description == "inspection at \(inspection.path)")
      for _ in 0..<4 { #expect(try await code(["do": "subscribe", "interval": 60_000]) == nil) }
      #expect(try await code(["do": "subscribe"]) == "busy")
      for _ in 0..<6 { try await client.send("[]\n") }
      #expect(await client.closing())
      #expect(inspection.counts.malformed == 8)
    }
  }

  @Test func controlNeedsBothSides() async throws {
    try await Serving.with(control: true) { inspection in
      let event = Event<Int>("locked")
      let calls = Guarded(0)
      let token = event.addHandler { _ in calls.withLock { $0 += 1 } }
      let client = try TestClient(inspection.path)
      try await client.sayHello(control: true)
      let lock: [String: Any] = ["event": event.identity.number, "handler": token.id]
      #expect(try await client.request(lock.merging(["do": "lock"]) { $1 })["found"] as? Bool == true)
      event.post(1)
      #expect(calls.withLock { $0 } == 0 && event.handlerCount == 1)
      #expect(try await client.request(lock.merging(["do": "unlock"]) { $1 })["found"] as? Bool == true)
      event.post(2)  // the answer comes when the unlock has taken effect
      #expect(calls.withLock { $0 } == 1)
      let without = try TestClient(inspection.path)
      try await without.sayHello()
      let refused = try await without.request(lock.merging(["do": "lock"]) { $1 })
      #expect((refused["error"] as? [String: Any])?["code"] as? String == "control")
    }
  }

  @Test func clientsAreToldOfTheEnd() async throws {
    let inspection = try Serving.start()
    let client = try TestClient(inspection.path)
    try await client.sayHello()
    inspection.end()
    inspection.end()
    #expect(!FileManager.default.fileExists(atPath: inspection.path))
    let bye = try await client.line()
    #expect(bye["push"] as? String == "bye" && bye["reason"] as? String == "ended")
    #expect(await client.closing())
    #expect(!Inspection.serving.contains { $0 === inspection })
  }

  @Test func theEnvironmentStartsAnInspection() async throws {
    let path = Serving.path()
    unsafe path.withCString { unsafe startFromEnvironment($0) }
    let inspection = try #require(Inspection.serving.first { $0.path == path })
    #expect(try await TestClient(path).line()["push"] as? String == "hello")
    inspection.end()
  }
}
