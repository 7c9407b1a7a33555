import EventingTransport
import Foundation
import Testing

@testable import Eventing
@testable import EventingInspection

/// Tests of the tables that modules show beside the events.
@Suite(.serialized, .timeLimit(.minutes(5))) struct TableTests {
  private struct NotAllowed: Error {}

  /// Three letters of one cause and one of another.
  private func letters(on subject: String, _ transport: InMemoryTransport) async throws -> DeadLetterQueue {
    let orders = RemoteEvent<Int>(subject, over: transport)
    orders.addHandler(.named("charge")) { (number: Int) async throws in
      if number < 4 { throw NotAllowed() }
      throw CocoaError(.fileNoSuchFile)
    }
    let listening = try await orders.listen(
      as: "billing", retry: .immediately(attempts: 1), deadLetter: "dead.\(subject)")
    for number in 1...4 { _ = try await orders.publish(number, id: "order-\(number)") }
    let queue = try await DeadLetterQueue.open("dead.\(subject)", over: transport)
    while queue.letters.count < 4 { await Task.yield() }
    await listening.drain()
    return queue
  }

  private func table(_ title: String, _ client: TestClient) async throws -> [String: Any]? {
    try await client.rows("tables").first { $0["title"] as? String == title }
  }

  private func cells(_ table: [String: Any]?) -> [[String]] {
    (table?["rows"] as? [[String: Any]])?.compactMap { $0["cells"] as? [String] } ?? []
  }

  private func ids(_ table: [String: Any]?) -> [Int] {
    (table?["rows"] as? [[String: Any]])?.compactMap { $0["id"] as? Int } ?? []
  }

  @Test func deadLettersAreShownSentAgainAndDiscarded() async throws {
    try await Serving.with(control: true) { inspection in
      let queue = try await letters(on: "shown", InMemoryTransport())
      let client = try TestClient(inspection.path)
      try await client.sayHello(control: true)

      let causes = try #require(try await table("Causes of dead letters on dead.shown", client))
      #expect(causes.keys.sorted() == ["actions", "columns", "count", "id", "latest", "rows", "title"])
      #expect(causes["actions"] as? [String] == ["Send again", "Discard"] && causes["count"] as? Int == 2)
      #expect(cells(causes).map { $0[0] } == ["3", "1"])
      #expect(cells(causes).allSatisfy { $0[1...3] == ["shown", "billing", "charge"] })
      let single = try #require(try await table("Dead letters on dead.shown", client))
      #expect(cells(single).map(\.first) == ["order-1", "order-2", "order-3", "order-4"])
      #expect(cells(single).allSatisfy { $0.count == (single["columns"] as? [String])?.count })

      func perform(_ action: String, _ table: [String: Any], _ rows: [Int]) async throws -> Int? {
        try await client.request([
          "do": "perform", "table": table["id"] ?? 0, "latest": table["latest"] ?? 0, "action": action, "rows": rows,
        ])["count"] as? Int
      }
      // One letter, then all of a cause, of which one has gone.
      #expect(try await perform("Send again", single, [ids(single)[1]]) == 1)
      #expect(try await perform("Send again", single, [ids(single)[1]]) == 0)
      // The next poll sees it. Each answer is awaited, and the server reads at most 200 requests a second.
      func firstCount() async throws -> String? {
        cells(try await table("Causes of dead letters on dead.shown", client)).first?.first
      }
      while try await firstCount() != "2" {}
      #expect(try await perform("Send again", causes, [ids(causes)[0]]) == 2)
      #expect(queue.letters.map(\.id) == ["order-4"])
      #expect(try await perform("Discard", causes, ids(causes)) == 1)
      #expect(queue.letters.isEmpty)
      while try await firstCount() != nil {}
      await queue.close()
    }
  }

  /// What came after the client saw the row is not in its hands: neither sent again nor discarded.
  @Test func anActionTakesWhatItsRowCounted() async throws {
    let transport = InMemoryTransport()
    let queue = try await letters(on: "counted", transport)
    func shown() -> [String] { InspectedTables.current.map(\.table.title).filter { $0.hasSuffix("dead.counted") } }
    #expect(shown() == ["Causes of dead letters on dead.counted", "Dead letters on dead.counted"])
    let causes = try #require(InspectedTables.current.map(\.table).first { $0.title == shown()[0] })
    let (first, count, latest) = causes.rows(upTo: PolledTable.mostRows)
    let row = try #require(first.first)
    #expect(row.cells[0] == "3" && first.count == 2 && count == 2)

    let orders = RemoteEvent<Int>("counted", over: transport)
    orders.addHandler(.named("charge")) { (_: Int) async throws in throw NotAllowed() }
    let listening = try await orders.listen(
      as: "billing", retry: .immediately(attempts: 1), deadLetter: "dead.counted")
    _ = try await orders.publish(5, id: "order-5")
    while queue.letters.count < 5 { await Task.yield() }
    await listening.drain()
    // Polls since then count the new letter.
    #expect(causes.rows(upTo: PolledTable.mostRows).first.first?.cells[0] == "4")
    #expect(try await causes.perform("Discard", on: [row.id], upTo: latest) == 3)
    #expect(queue.letters.map(\.id) == ["order-4", "order-5"])
    await queue.close()
    // This test still has the other one.
    #expect(shown() == ["Causes of dead letters on dead.counted"])
  }

  /// One message that can't be sent again does not keep the others of its row back.
  @Test func aLetterThatIsNoneIsLeftWithItsReason() async throws {
    let transport = InMemoryTransport()
    let queue = try await letters(on: "mixed", transport)
    // Not a letter: it names no subject.
    _ = try await transport.publish(RemoteMessage(id: "stray", body: []), to: "dead.mixed")
    while queue.letters.count < 5 { await Task.yield() }
    let table = try #require(
      InspectedTables.current.map(\.table).first { $0.title == "Dead letters on dead.mixed" })
    let (rows, _, latest) = table.rows(upTo: PolledTable.mostRows)
    await #expect {
      _ = try await table.perform("Send again", on: Set(rows.map(\.id)), upTo: latest)
    } throws: { error in
      "\(error)".hasPrefix("sent again: 4; not sent: 1, the first because: ")
    }
    #expect(queue.letters.map(\.id) == ["stray"])
    await queue.close()
  }

  @Test func aTableGoesWithItsQueue() async throws {
    try await Serving.with { inspection in
      var queue: DeadLetterQueue? = try await letters(on: "going", InMemoryTransport())
      let client = try TestClient(inspection.path)
      try await client.sayHello()
      #expect(try await table("Dead letters on dead.going", client) != nil)
      let answer = try await client.request(["do": "subscribe", "interval": 50, "parts": ["tables"]])
      #expect(answer["ok"] as? Bool == true)
      await queue?.close()
      queue = nil
      var gone: [Int] = []
      while gone.count < 2 {
        let line = try await client.line()
        gone += (line["gone"] as? [String: [Int]])?["tables"] ?? []
      }
      #expect(gone.count == 2)
    }
  }

  @Test func performingNeedsControlAndGoodKeys() async throws {
    try await Serving.with(control: true) { inspection in
      let queue = try await letters(on: "guarded", InMemoryTransport())
      func code(_ client: TestClient, _ keys: [String: Any]) async throws -> String? {
        (try await client.request(keys)["error"] as? [String: Any])?["code"] as? String
      }
      let watcher = try TestClient(inspection.path)
      try await watcher.sayHello()
      let shown = try #require(try await table("Dead letters on dead.guarded", watcher))
      let good: [String: Any] = [
        "do": "perform", "table": shown["id"] ?? 0, "latest": 4, "action": "Discard", "rows": ids(shown),
      ]
      #expect(try await code(watcher, good) == "control")
      let client = try TestClient(inspection.path)
      try await client.sayHello(control: true)
      #expect(try await code(client, good.merging(["table": 1 << 40]) { $1 }) == "table")
      #expect(try await code(client, good.merging(["action": "Burn"]) { $1 }) == "request")
      #expect(try await code(client, good.merging(["rows": ["1"]]) { $1 }) == "request")
      #expect(try await code(client, good.merging(["rows": [-1]]) { $1 }) == "request")
      #expect(try await code(client, good.merging(["latest": "4"]) { $1 }) == "request")
      #expect(queue.letters.count == 4)
      await queue.close()
    }
  }

  /// An action that fails says why.
  @Test func aFailedActionIsTold() async throws {
    final class Failing: InspectedTable {
      let (title, columns, actions) = ("failing", ["Text"], ["Try"])
      func rows(upTo limit: Int) -> (first: [InspectedRow], count: Int, latest: UInt64) {
        ((1...UInt64(limit)).map { InspectedRow(id: $0, isBad: $0 == 1, ["row \($0)"]) }, 150, 150)
      }
      func perform(_ action: String, on rows: Set<UInt64>, upTo latest: UInt64) async throws -> Int {
        throw EventingError.timedOut
      }
    }
    let failing = Failing()
    InspectedTables.add(failing)
    try await Serving.with(control: true) { inspection in
      let client = try TestClient(inspection.path)
      try await client.sayHello(control: true)
      let shown = try #require(try await table("failing", client))
      #expect(shown["count"] as? Int == 150 && cells(shown).count == 100)
      #expect((shown["rows"] as? [[String: Any]])?.first?["bad"] as? Bool == true)
      let answer = try await client.request([
        "do": "perform", "table": shown["id"] ?? 0, "latest": 150, "action": "Try", "rows": [1],
      ])
      let error = try #require(answer["error"] as? [String: Any])
      #expect(answer["ok"] as? Bool == false && error["code"] as? String == "action")
      #expect(error["message"] as? String == "\(EventingError.timedOut)")
    }
    withExtendedLifetime(failing) {}
  }

  @Test func aMonitoredBacklogIsShown() async throws {
    try await Serving.with { inspection in
      let transport = InMemoryTransport()
      let orders = RemoteEvent<Int>("watched", over: transport)
      let listening = try await orders.listen(as: "billing")
      await listening.drain()
      for number in 1...3 { try await orders.publish(number) }
      var monitor: BacklogMonitor? = BacklogMonitor(of: orders, in: "billing", every: .milliseconds(10))
      let client = try TestClient(inspection.path)
      try await client.sayHello()
      func rows() async throws -> [[String]] {
        cells(try await table("Backlogs", client)).filter { $0.first == "watched" }
      }
      while try await rows().first?[2] != "3" {}
      let row = try #require(try await rows().first)
      #expect(row[1] == "billing" && row[3] == "0" && row[5].hasPrefix("20") && row[6].isEmpty)
      #expect(monitor != nil)
      monitor = nil
      while !(try await rows().isEmpty) {}
    }
  }
}
