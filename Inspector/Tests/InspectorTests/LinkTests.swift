import FakeApp
import Foundation
import InspectorClient
import Testing

@Suite struct LinkTests {
  @Test func updatesMakeTheRowsOfTheApp() async throws {
    try await withLink { app, _, recorder in
      try await eventually("no rows") { recorder.model.rows("events").count == 8 }
      #expect(recorder.event(1)?["name"]?.string == "orders placed")
      try await eventually("the sequence stands still") { recorder.event(7)?["sequence"]?.int ?? 0 > 500 }
      app.change { $0.events[6] = nil }
      try await eventually("an event that is gone stays") { recorder.event(6) == nil }
      app.change { $0.stick() }
      try await eventually("no warning") { recorder.model.rows("warnings").first?.members?["code"]?.string == "stuck" }
    }
  }

  @Test func theLinkComesBackWhenTheAppDoes() async throws {
    try await withLink { app, link, recorder in
      app.hangUp()
      try await eventually("no second connection") { recorder.state.withLock { $0.sessions } == 2 }
      app.end()
      try await eventually("no sign of the end") { recorder.state.withLock { $0.reasons.count } >= 2 }
      #expect(link.session == nil)
      let next = try FakeApp(path: app.path, world: World())
      defer { next.end() }
      try await eventually("no third connection") { recorder.state.withLock { $0.sessions } == 3 }
      try await eventually("rows of an app that has ended") { recorder.model.rows("events").isEmpty }
      // While there was no app, each attempt to connect failed. The link reported the reason of
      // these failures once, not at each attempt. The other reasons are those of the connections
      // that ended.
      #expect(recorder.state.withLock { $0.reasons.count } <= 4)
    }
  }

  @Test func requestsFailWithTheWordsOfTheApp() async throws {
    try await withLink(control: false) { _, link, _ in
      let session = try #require(link.session)
      #expect(!session.control)
      let error = await #expect(throws: LinkError.self) { try await session.request("lock", [("event", "1")]) }
      #expect(error?.code == "control")
      await #expect(throws: LinkError.self) { try await session.request("nonsense") }
    }
  }

  @Test func requestsToAnAppThatHangsEnd() async throws {
    let path = socketPath()
    let listener = try Silent(path: path)
    defer { listener.end() }
    let link = AppLink(path: path, interval: nil, delegate: Recorder())
    link.start()
    defer { link.end() }
    try await eventually("no connection") { link.session != nil }
    let session = try #require(link.session)
    let request = Task { try await session.request("snapshot", within: .seconds(3_600)) }
    try await eventually("no request") { listener.received.contains("snapshot") }
    request.cancel()
    await #expect(throws: CancellationError.self) { try await request.value }
    await #expect(throws: LinkError.self) { try await session.request("snapshot", within: .milliseconds(10)) }
  }

  @Test func requestsThatWaitFailWhenTheAppEnds() async throws {
    let path = socketPath()
    let listener = try Silent(path: path)
    defer { listener.end() }
    let recorder = Recorder()
    let link = AppLink(path: path, interval: nil, delegate: recorder)
    link.start()
    defer { link.end() }
    try await eventually("no connection") { link.session != nil }
    let session = try #require(link.session)
    let request = Task { try await session.request("snapshot") }
    try await eventually("no request") { listener.received.contains("snapshot") }
    listener.hangUp()
    await #expect(throws: LinkError.self) { try await request.value }
    await #expect(throws: LinkError.self) { try await session.request("snapshot") }
  }

  @Test func anAnswerInSeveralLinesIsOne() async throws {
    try await withLink { _, link, _ in
      let lines = try await #require(link.session).request("snapshot")
      #expect(lines.count == 6)
      let parts = lines.flatMap { $0.members?["parts"]?.members?.keys.map { $0 } ?? [] }
      #expect(Set(parts) == ["events", "handlers", "graph", "waits", "warnings", "tables"])
    }
  }

  @Test func lockingWorksIfBothSidesAllowIt() async throws {
    try await withLink(control: true) { _, link, recorder in
      let answer = try await #require(link.session).request(
        "lock", [("event", "2"), ("handler", "4"), ("holding", "\"latest\"")])
      #expect(answer.last?.members?["found"]?.bool == true)
      try await eventually("no lock") {
        recorder.model.parts["handlers"]?[.id(4)]?.members?["locked"]?.bool == true
      }
    }
  }

  @Test func aTraceIsAFileOfChromesFormat() async throws {
    try await withLink { _, link, recorder in
      let session = try #require(link.session)
      let (trace, megabytes) = try await recorder.traces.start(session, events: [1, 2], megabytes: 900)
      #expect(megabytes == 64)
      try await Task.sleep(for: .milliseconds(200))
      let rows = recorder.model.rows("events").filter { [1, 2].contains($0.members?["id"]?.int) }
      let file = try await recorder.traces.stop(session, trace: trace, events: rows)
      let object = try #require(try JSONSerialization.jsonObject(with: Data(file.text.utf8)) as? [String: Any])
      let records = try #require(object["traceEvents"] as? [[String: Any]])
      #expect(records.count == file.count && file.overwritten == 3)
      let header = try #require(object["otherData"] as? [String: Any])
      #expect((header["events"] as? [[String: Any]])?.count == 2)
      let error = await #expect(throws: LinkError.self) {
        try await recorder.traces.stop(session, trace: trace, events: [])
      }
      #expect(error?.code == "trace")
      await #expect(throws: LinkError.self) { try await recorder.traces.start(session, events: [77], megabytes: 1) }
    }
  }

  /// Both sessions have a trace with the number 1.
  @Test func theEndOfAnOldTraceEndsNoTraceOfTheNextSession() async throws {
    try await withLink { app, link, recorder in
      let old = try #require(link.session)
      _ = try await recorder.traces.start(old, events: [1], megabytes: 1)
      app.hangUp()
      try await eventually("no other session") { link.session.map { $0 !== old } ?? false }
      let new = try #require(link.session)
      let (trace, _) = try await recorder.traces.start(new, events: [1], megabytes: 1)
      await #expect(throws: LinkError.self) { try await recorder.traces.stop(old, trace: trace, events: []) }
      let file = try await recorder.traces.stop(new, trace: trace, events: [])
      #expect(file.count > 0 && file.text.contains(#""cat":"call""#))
    }
  }

  @Test(arguments: [
    (#"{"push":"hello","protocol":2,"pid":1}"#, "version 2"),
    (#"{"push":"error","error":{"code":"busy","message":"Eight clients are there."}}"#, "Eight clients"),
    ("SSH-2.0-x", "no JSON"), (#"{"a":1}"#, "another protocol"),
  ])
  func whatIsNoAppIsNamed(_ line: String, _ words: String) async throws {
    let listener = try Silent(path: socketPath(), hello: line)
    defer { listener.end() }
    let recorder = Recorder()
    let link = AppLink(path: listener.path, delegate: recorder)
    link.start()
    defer { link.end() }
    try await eventually("no reason") { recorder.state.withLock { $0.reasons.first?.contains(words) == true } }
    #expect(recorder.state.withLock { $0.sessions } == 0)
  }

  @Test func aThousandEventsComeInSeveralLines() async throws {
    try await withLink { app, _, recorder in
      app.change { $0.many() }
      try await eventually("not all rows") {
        // Reads the counts under the lock. If the test held a copy, each update would copy all
        // rows.
        recorder.state.withLock { state in
          state.model.parts["events"]?.count == 1_008 && state.model.parts["handlers"]?.count == 10_010
        }
      }
    }
  }
}
