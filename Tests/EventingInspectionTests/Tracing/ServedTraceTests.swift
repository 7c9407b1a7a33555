import Eventing
import Foundation
import Testing

@testable import EventingInspection

/// Tests of traces that a client begins over the socket.
@Suite(.serialized) struct ServedTraceTests {
  @Test func aClientGetsTheRecordsOfItsTrace() async throws {
    try await Serving.with { inspection in
      let event = Event<Int>("served")
      event.addHandler(on: .background) { _ in }
      inspection.include(event)
      let client = try TestClient(inspection.path)
      try await client.sayHello()
      let id = event.identity.number
      let began = try await client.request(["do": "trace", "action": "start", "events": [id], "megabytes": 1_000])
      #expect(began["megabytes"] as? Int == 64)
      let trace = try #require(began["trace"] as? Int)
      let second = try await client.request(["do": "trace", "action": "start", "events": [id]])
      #expect((second["error"] as? [String: Any])?["code"] as? String == "busy")
      for number in 1...3 { await event.send(number) }
      let other = try await client.request(["do": "trace", "action": "stop", "trace": trace + 1_000])
      #expect((other["error"] as? [String: Any])?["code"] as? String == "trace")
      var pushes: [[String: Any]] = []
      let ended = try await client.request(["do": "trace", "action": "stop", "trace": trace]) { pushes.append($0) }
      #expect(ended["count"] as? Int == 6 && ended["overwritten"] as? Int == 0)
      let records = pushes.filter { $0["push"] as? String == "trace" }.flatMap {
        $0["records"] as? [[String: Any]] ?? []
      }
      #expect(records.filter { $0["cat"] as? String == "occurrence" }.count == 3)
      #expect(records.filter { $0["cat"] as? String == "call" }.count == 3)
      await event.send(4)
      let again = try await client.request(["do": "trace", "action": "start", "events": [id]])
      #expect(again["ok"] as? Bool == true)
    }
  }

  @Test func requestsThatAreNoTraceAreRefused() async throws {
    try await Serving.with { inspection in
      let client = try TestClient(inspection.path)
      try await client.sayHello()
      for (request, code) in [
        (["do": "trace"], "request"), (["do": "trace", "action": "start"], "request"),
        (["do": "trace", "action": "start", "events": [] as [Int]], "request"),
        (["do": "trace", "action": "start", "events": [Int.max >> 12]], "event"),
        (["do": "trace", "action": "stop", "trace": 1], "trace"),
      ] as [([String: Any], String)] {
        let answer = try await client.request(request)
        #expect((answer["error"] as? [String: Any])?["code"] as? String == code)
      }
    }
  }

  /// Checks a trace that does not fit into one line.
  @Test func aLongTraceComesInSeveralLines() async throws {
    try await Serving.with { inspection in
      let event = Event<Int>("long")
      event.addHandler { _ in }
      inspection.include(event)
      let client = try TestClient(inspection.path)
      try await client.sayHello()
      let began = try await client.request(["do": "trace", "action": "start", "events": [event.identity.number]])
      let trace = try #require(began["trace"] as? Int)
      for number in 1...3_000 { event.post(number) }
      var pushes: [[String: Any]] = []
      let ended = try await client.request(["do": "trace", "action": "stop", "trace": trace]) { pushes.append($0) }
      #expect(ended["count"] as? Int == 6_000)
      let lines = pushes.filter { $0["push"] as? String == "trace" }
      #expect(lines.count > 1)
      let records = lines.flatMap { $0["records"] as? [[String: Any]] ?? [] }
      #expect(records.filter { $0["ph"] as? String == "X" }.count == 6_000)
    }
  }
}
