import Foundation
import Synchronization
import Testing

@testable import Eventing
@testable import EventingInspection

/// Tests of guarantee S6: whatever a client sends, or does not read, the inspection still answers
/// other clients.
@Suite(.serialized) struct HostileClientTests {
  /// Fails unless a new client gets an answer.
  private func expectService(_ inspection: Inspection) async throws {
    #expect(await eventually { inspection.counts.clients < 8 })
    let client = try TestClient(inspection.path)
    try await client.sayHello()
    #expect(try await client.request(["do": "warnings"])["ok"] as? Bool == true)
  }

  @Test(arguments: 0..<8 as Range<UInt64>) func randomBytes(_ seed: UInt64) async throws {
    try await Serving.with { inspection in
      var random = Steps(state: seed)
      for greets in [false, true] {
        let client = try TestClient(inspection.path)
        if greets { try await client.sayHello() }
        try await client.send((0..<200_000).map { _ in UInt8.random(in: 0...255, using: &random) })
        #expect(await client.closing())
      }
      try await expectService(inspection)
      #expect(inspection.counts.malformed >= 1)
    }
  }

  @Test(arguments: 0..<8 as Range<UInt64>) func requestsThatAreCutOrMixed(_ seed: UInt64) async throws {
    try await Serving.with { inspection in
      var random = Steps(state: seed)
      let good = #"{"id":1,"do":"snapshot","parts":["events","handlers"],"events":[1,2,3]}"#
      for _ in 0..<20 {
        let client = try TestClient(inspection.path)
        try await client.sayHello()
        var bytes = Array(good.utf8)
        for _ in 0..<Int.random(in: 1...4, using: &random) {
          let at = Int.random(in: 0..<bytes.count, using: &random)
          switch Int.random(in: 0..<3, using: &random) {
          case 0: bytes[at] = UInt8.random(in: 0x20...0x7E, using: &random)
          case 1: bytes.insert(bytes[Int.random(in: 0..<bytes.count, using: &random)], at: at)
          default: bytes.removeSubrange(at...)
          }
          if bytes.isEmpty { bytes = [0x7B] }
        }
        try await client.send(bytes + [10])
        let answer = try await client.line()
        #expect(answer["ok"] is Bool)
      }
      try await expectService(inspection)
    }
  }

  @Test func halfALineWaitsForItsRest() async throws {
    try await Serving.with { inspection in
      let client = try TestClient(inspection.path)
      try await client.sayHello()
      for byte in #"{"id":"half","do":"warnings"}"#.utf8 { try await client.send([byte]) }
      try await client.send("\r\n\n\n")
      #expect(try await client.line()["id"] as? String == "half")
    }
  }

  @Test func aLineOfTenMegabytesIsNotKept() async throws {
    try await Serving.with { inspection in
      let client = try TestClient(inspection.path)
      try await client.sayHello()
      try await client.send([UInt8](repeating: 0x78, count: 10_000_000))
      #expect(await client.closing())
      let last = try #require(client.received.split(separator: 10).last)
      #expect(String(decoding: last, as: UTF8.self).contains(#""code":"line""#))
      #expect(inspection.counts.malformed == 1)
      try await expectService(inspection)
    }
  }

  @Test func deepAndWideJSONIsRefused() async throws {
    #expect(JSONValue(Array(String(repeating: "[", count: 60_000).utf8)[...]) == nil)
    #expect(JSONValue(Array("[\(String(repeating: "1,", count: 30_000))1]".utf8)[...]) == nil)
    for text in ["", "{", "nul", "01", "1.", "\"\u{1}\"", "\"\\ud800\"", "\"\\x\"", "{\"a\":1,}", "[1 2]", "1 1"] {
      #expect(JSONValue(Array(text.utf8)[...]) == nil, "\(text)")
    }
    let whole = #" {"a":[1,-2,3.5e1,true,null,"\u00e9\n\ud83d\ude00"]} "#
    let value = try #require(JSONValue(Array(whole.utf8)[...]))
    #expect(value["a"] == .array([.integer(1), .integer(-2), .number, .bool(true), .null, .text("é\n😀")]))
  }

  @Test func aHundredConnections() async throws {
    try await Serving.with { inspection in
      var clients: [TestClient] = []
      var (served, busy) = (0, 0)
      for _ in 0..<100 {
        let client = try TestClient(inspection.path)
        clients.append(client)
        let first = try await client.line()
        if first["push"] as? String == "hello" { served += 1 } else { busy += 1 }
      }
      #expect(served == 8 && busy == 92 && inspection.counts.refused == 92)
      clients = []
      try await expectService(inspection)
    }
  }

  @Test func aReaderThatNeverReadsCostsAtMostItsQueue() async throws {
    var limits = Serving.limits
    (limits.reply, limits.queue, limits.idleTime) = (65_536, 262_144, 100_000_000)
    limits.intervals = 1...60_000
    try await Serving.with(limits: limits) { inspection in
      let event = Event<Int>("floods")
      for number in 0..<500 { event.addHandler(.named("handler with a long name \(number)")) { _ in } }
      let client = try TestClient(inspection.path)
      try await client.sayHello()
      for id in 2..<6 {
        try await client.send(
          #"{"id":\#(id),"do":"subscribe","interval":1,"events":[\#(event.identity.number)]}"# + "\n")
      }
      // The client reads nothing. Each update has the rows of all handlers, because each post calls
      // all of them.
      #expect(
        await eventually {
          event.post(1)
          return inspection.counts.clients == 0
        }, "a client that takes nothing is closed")
      #expect(inspection.server.mostWaiting.load(ordering: .relaxed) <= limits.queue)
      #expect(inspection.counts.missed > 0)
      try await expectService(inspection)
    }
  }

  @Test func aReaderThatWasSlowStartsAnew() async throws {
    var limits = Serving.limits
    (limits.reply, limits.queue) = (65_536, 262_144)
    limits.intervals = 1...60_000
    try await Serving.with(limits: limits) { inspection in
      let event = Event<Int>("slow")
      for number in 0..<500 { event.addHandler(.named("handler with a long name \(number)")) { _ in } }
      let client = try TestClient(inspection.path)
      try await client.sayHello()
      try await client.send(#"{"id":2,"do":"subscribe","interval":1,"events":[\#(event.identity.number)]}"# + "\n")
      #expect(
        await eventually {
          event.post(1)
          return inspection.counts.missed > 0
        })
      var (last, isAnew) = (0, false)
      while !isAnew {
        let line = try await client.line()
        guard line["push"] as? String == "update", let number = line["n"] as? Int else { continue }
        #expect(number == last || number == last + 1)
        last = number
        isAnew = line["missed"] as? Int ?? 0 > 0 && line["whole"] as? Bool == true
      }
      #expect(isAnew)
      withExtendedLifetime(event) {}
    }
  }

  @Test func aFloodOfRequestsIsNotRead() async throws {
    try await Serving.with { inspection in
      let client = try TestClient(inspection.path)
      try await client.sayHello()
      let flood = String(repeating: #"{"id":1,"do":"warnings"}"# + "\n", count: 2_000)
      let start = ContinuousClock.now
      try await client.send(flood)
      for _ in 0..<2_000 { #expect(try await client.line()["ok"] as? Bool == true) }
      #expect(ContinuousClock.now - start > .milliseconds(500), "more than 200 requests take over a second")
      try await expectService(inspection)
    }
  }

  /// A generator that returns equal random numbers for an equal seed (SplitMix64).
  private struct Steps: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
      state &+= 0x9E37_79B9_7F4A_7C15
      var z = state
      z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
      z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
      return z ^ (z >> 31)
    }
  }
}
