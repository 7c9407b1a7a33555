import Foundation
import Synchronization
import Testing

@testable import Eventing
@testable import EventingInspection

/// Tests of the guarantees S1, S2, S4 and S5 of an inspection.
@Suite(.serialized) struct GuaranteeTests {
  // MARK: S1 and S2

  @Test func aPolledEventStaysOnItsFastPath() async throws {
    try await Serving.with { inspection in
      let event = Event<Int>("fast")
      event.addHandler { _ in }
      let client = try TestClient(inspection.path)
      try await client.sayHello()
      for number in 0..<3 {
        event.post(number)
        _ = try await client.rows("handlers", events: [event.identity.number])
      }
      let anchor = event.core.anchor
      let isOpen = anchor.postFastPathEpoch == anchor.changes.load(ordering: .acquiring)
      #expect(isOpen && !event.core.mustEnqueue && !event.core.isTraced)
      #expect(anchor.observers == nil)
    }
  }

  /// Measures 80 polls of events with 10 handlers each. Before the first 40 polls, none of these
  /// events changes. Before each of the last 40 polls, the test posts to 50 events. If
  /// EVENTING_COSTS is 1, the test polls 1,000 events and checks limits of the cost, which hold for
  /// a release build on an idle machine. Otherwise the test polls 100 events.
  @Test func aPollOfManyEventsIsCheap() throws {
    EventRegistry.start()
    defer { EventRegistry.stop() }
    let isMeasured = ProcessInfo.processInfo.environment["EVENTING_COSTS"] == "1"
    let events = (0..<(isMeasured ? 1_000 : 100)).map { _ in Event<Int>() }
    for event in events { for _ in 0..<10 { event.addHandler { _ in } } }
    let poller = Poller()
    poller.poll()
    let mine = Set(events.map(\.identity.number))
    #expect(poller.events.filter { mine.contains($0.id) }.allSatisfy { $0.handlers.count == 10 })
    func cost(changing count: Int) -> (perSecond: Double, rows: Int) {
      var rows = 0
      let clock = ThreadTime()
      for round in 0..<40 {
        for index in 0..<count { events[(round * 50 + index) % events.count].post(1) }
        let tick = poller.tick
        let before = clock.seconds
        poller.poll()
        var cursor = RowCursor([.events, .handlers], events: mine, since: tick, writesEmptyParts: false)
        while !cursor.isAtEnd {
          var line = JSONWriter()
          cursor.write(poller, to: &line, room: 1_000_000)
        }
        clock.spent += clock.seconds - before
        rows += poller.events.count { $0.version > tick && mine.contains($0.id) }
      }
      return (clock.spent / 10, rows)
    }
    let (idle, busy) = (cost(changing: 0), cost(changing: 50))
    #expect(idle.rows == 0 && busy.rows >= 40 * 50)
    if isMeasured {
      print("cost of polls, of a core: idle \(idle.perSecond * 100) %, with 50 changing \(busy.perSecond * 100) %")
      #expect(idle.perSecond < 0.01 && busy.perSecond < 0.01)
    }
    poller.rest()
  }

  /// The processor time of the calling thread.
  private final class ThreadTime {
    var spent = 0.0
    var seconds: Double {
      var time = timespec()
      _ = unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
      return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
  }

  // MARK: S4

  @Test func theSocketIsItsUsersAlone() throws {
    let inspection = try Inspection.serve(at: Serving.path())
    defer { inspection.end() }
    var file = stat()
    #expect(unsafe lstat(inspection.path, &file) == 0 && file.st_mode & 0o777 == 0o600 && file.st_uid == geteuid())
  }

  @Test func aPathThatIsTakenIsRefused() throws {
    func code(_ path: String) -> InspectionError.Code? {
      do {
        try Inspection.serve(at: path).end()
        return nil
      } catch { return error.code }
    }
    let inspection = try Inspection.serve(at: Serving.path())
    defer { inspection.end() }
    #expect(code(inspection.path) == .pathTaken && code("") == .badPath)
    #expect(
      code("/tmp/\(String(repeating: "x", count: 110))") == .badPath && code("/tmp/none-\(getpid())/s") == .badPath)
    let (plain, link, folder) = (Serving.path(), Serving.path(), Serving.path())
    _ = FileManager.default.createFile(atPath: plain, contents: nil)
    #expect(unsafe symlink(plain, link) == 0 && symlink("/tmp", folder) == 0)
    defer { for path in [plain, link, folder] { unsafe unlink(path) } }
    #expect(code(plain) == .pathTaken && code(link) == .link && code(folder + "/s") == .link)
    #expect(FileManager.default.fileExists(atPath: plain), "a file that is refused stays")
    let open = Serving.path()
    let isMade = unsafe mkdir(open, 0o700) == 0 && chmod(open, 0o777) == 0
    #expect(isMade)
    defer { unsafe rmdir(open) }
    #expect(code(open + "/s") == .badPath)
  }

  @Test func aSocketOfAProgramThatEndedIsReplaced() async throws {
    let path = Serving.path()
    let first = try SocketFile(path)
    close(first.descriptor)  // as if the program had died
    #expect(FileManager.default.fileExists(atPath: path))
    let inspection = try Serving.start(at: path)
    try await TestClient(path).sayHello()
    first.remove()
    #expect(FileManager.default.fileExists(atPath: path), "the file of the one before is another one")
    inspection.end()
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  @Test(arguments: ["{\"id\":1,\"do\":\"snapshot\"}\n", "{\"id\":1,\"do\":\"hello\",\"protocol\":2}\n", "x\n"])
  func withoutAHelloNothingIsTold(_ line: String) async throws {
    try await Serving.with { inspection in
      let client = try TestClient(inspection.path)
      _ = try await client.line()
      try await client.send(line)
      let error = try #require(try await client.line()["error"] as? [String: Any])
      #expect(error["code"] as? String == (line.contains("2") ? "version" : "hello"))
      #expect(await client.closing())
    }
  }

  @Test func aClientThatSaysNothingIsClosed() async throws {
    var limits = ClientLimits()
    limits.helloTime = 20_000_000
    try await Serving.with(limits: limits) { inspection in
      let client = try TestClient(inspection.path)
      #expect(await client.closing())
      #expect(await eventually { inspection.counts.refused == 1 && inspection.counts.clients == 0 })
    }
  }

  // MARK: S5

  private struct Secret: Sendable, CustomStringConvertible { var description: String { "plutonium" } }

  @Test func payloadsStayInside() async throws {
    try await Serving.with { inspection in
      let (event, keyed) = (Event<Secret>("<script>\"\\\u{1}"), KeyedEvent<Secret2, Secret>("keys"))
      event.addHandler(.named(String(repeating: "é", count: 200))) { _ in }
      keyed[Secret2()].addHandler { _ in }
      inspection.include(keyed)
      let client = try TestClient(inspection.path)
      try await client.sayHello()
      event.post(Secret())
      keyed.post(Secret(), to: Secret2())
      let row = try #require(try await client.rows("events", events: [event.identity.number]).first)
      #expect(row["name"] as? String == "<script>\"\\\u{1}")
      let handler = try #require(try await client.rows("handlers", events: [event.identity.number]).first)
      let name = try #require(handler["name"] as? String)
      #expect(name.utf8.count <= 256 && name.hasSuffix("é…") && name.count == 127)
      for part in ["events", "handlers", "graph", "waits", "warnings"] { _ = try await client.rows(part) }
      #expect(!String(decoding: client.received, as: UTF8.self).contains("plutonium"))
      withExtendedLifetime((event, keyed)) {}
    }
  }

  private struct Secret2: Hashable, Sendable, CustomStringConvertible { var description: String { "plutonium" } }
}
