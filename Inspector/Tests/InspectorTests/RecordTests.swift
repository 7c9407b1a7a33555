import FakeApp
import Foundation
import InspectorClient
import Synchronization
import Testing

/// Tests of `inspector record` and `inspector replay`.
@Suite struct RecordTests {
  private let path = "/tmp/inspector-test-\(getpid())-\(UInt32.random(in: 0 ... .max)).jsonl"

  /// Records a scripted app, which ends and comes back once.
  private func record() async throws -> SessionRecorder {
    let recorder = try SessionRecorder(path: path)
    let socket = socketPath()
    let link = AppLink(path: socket, interval: 50, delegate: recorder)
    link.start()
    defer { link.end() }
    for round in 1...2 {
      let app = try FakeApp(path: socket, world: .shop())
      let before = recorder.count
      try await eventually("no updates in round \(round)") { recorder.count >= before + 4 }
      app.end()
    }
    try recorder.end()
    return recorder
  }

  /// Replays a file to a link until the recording has ended. Returns what the link reported.
  private func replay(_ file: SessionFile, speed: Double = 1_000) async throws -> Recorder {
    let recorder = Recorder()
    let link = AppLink(delegate: recorder, connect: ReplayedApp(file, speed: speed).connect)
    link.start()
    defer { link.end() }
    try await eventually("no end") { recorder.state.withLock { $0.reasons.contains("the recording has ended") } }
    return recorder
  }

  @Test func aReplayTellsWhatTheAppTold() async throws {
    defer { unlink(path) }
    let recorded = try await record()
    let file = try SessionFile(path: path)
    #expect(file.sessions.count == 2)
    #expect(file.count == recorded.count && !file.isCut && file.damagedLines.isEmpty)
    #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)

    let replayed = try await replay(file)
    #expect(replayed.state.withLock { $0.sessions } == 2)
    #expect(replayed.state.withLock { $0.updates } == file.count)
    var expected = AppModel()
    for update in file.sessions[1].updates { expected.apply(try JSONSlice(Array(update.line.utf8)).members ?? [:]) }
    for part in ["events", "handlers", "graph", "waits", "warnings", "tables"] {
      let texts = [expected, replayed.model].map { model in
        model.rows(part).map { String(decoding: $0.bytes, as: UTF8.self) }.sorted()
      }
      #expect(texts[0] == texts[1] && (part != "events" || texts[0].count == 8))
    }
  }

  @Test func updatesComeAsFarApartAsTheyWereRecorded() async throws {
    defer { unlink(path) }
    try Data(([header] + (1...4).map { update(n: $0, at: $0 * 100_000_000) }).joined(separator: "\n").utf8)
      .write(to: URL(filePath: path))
    let file = try SessionFile(path: path)
    #expect(file.isCut && file.count == 4)
    let once = try await ContinuousClock().measure { _ = try await replay(file, speed: 1) }
    #expect(once >= .milliseconds(300))
  }

  /// At its own speed, the replay would take five minutes, which is longer than `eventually` waits.
  @Test func aSpeedMakesAReplayShorter() async throws {
    defer { unlink(path) }
    try Data(([header] + (1...4).map { update(n: $0, at: $0 * 100_000_000_000) }).joined(separator: "\n").utf8)
      .write(to: URL(filePath: path))
    #expect(try await replay(SessionFile(path: path), speed: 1_000).state.withLock { $0.updates } == 4)
  }

  @Test func aRecordingCanOnlyBeLookedAt() async throws {
    defer { unlink(path) }
    try Data((header + "\n" + update(n: 1)).utf8).write(to: URL(filePath: path))
    let file = try SessionFile(path: path)
    let (sessions, continuation) = AsyncStream<AppSession>.makeStream()
    let link = AppLink(interval: nil, delegate: Sessions(continuation), connect: ReplayedApp(file, speed: 1).connect)
    link.start()
    defer { link.end() }
    for await session in sessions {
      #expect(session.hello.program == "shop")
      await #expect(throws: LinkError("A recording can only be looked at.", code: "recorded")) {
        try await session.request("snapshot")
      }
      break
    }
  }

  @Test(arguments: [
    ("", "expected a recorded inspection, got an empty file"),
    (#"{"recording":1,"epoch":0}"#, "EventPlayback replays it in the app"),
    (#"{"inspection":2,"hello":{}}"#, "expected version 1 of a recorded inspection, got version 2"),
    ("[1,2]", #"expected a first line {"inspection":1,"hello":…}, got [1,2]"#),
  ]) func aFileOfAnotherKindIsNamed(text: String, words: String) throws {
    defer { unlink(path) }
    try Data(text.utf8).write(to: URL(filePath: path))
    let error = #expect(throws: LinkError.self) { try SessionFile(path: path) }
    #expect(error?.description.contains(words) == true && error?.description.contains(path) == true)
  }

  @Test func aMissingFileAndAMissingFolderAreNamed() throws {
    #expect(throws: LinkError("cannot read /nowhere/at/all")) { try SessionFile(path: "/nowhere/at/all") }
    #expect(throws: LinkError("cannot write /nowhere/at/all: No such file or directory")) {
      try SessionRecorder(path: "/nowhere/at/all")
    }
  }

  @Test func damagedLinesAreSkippedAndNamed() throws {
    defer { unlink(path) }
    let text = [header, update(n: 1), "{\"push\":", "7", update(n: 2), #"{"end":true,"count":2}"#]
    try Data(text.joined(separator: "\n").utf8).write(to: URL(filePath: path))
    let file = try SessionFile(path: path)
    #expect(file.damagedLines == [3, 4] && file.count == 2 && !file.isCut)
  }

  @Test func aNewFileIsPrivate() throws {
    let path = "/tmp/inspector-test-\(getpid())-mode.json"
    defer { try? FileManager.default.removeItem(atPath: path) }
    #expect(FileManager.default.createFile(atPath: path, contents: Data("before".utf8)))
    try SessionRecorder.makeFile(at: path).write(contentsOf: Data("{}".utf8))
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "{}")
    let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    #expect(mode == 0o600)
  }

  @Test func aFullDiskIsTold() async throws {
    let recorder = try SessionRecorder(path: "/dev/full")
    recorder.updated([:], try JSONSlice(Array(update(n: 1).utf8)))
    for await happening in recorder.happenings {
      guard case .failed = happening else { continue }
      break
    }
    #expect(throws: (any Error).self) { try recorder.end() }
    #expect(recorder.count == 0)
  }

  /// The file has no line yet, and the last line, which `end()` writes, does not fit on the disk.
  @Test(.timeLimit(.minutes(2))) func aFullDiskAtTheEndIsToldEachTime() async throws {
    let recorder = try SessionRecorder(path: "/dev/full")
    #expect(throws: (any Error).self) { try recorder.end() }
    #expect(throws: (any Error).self) { try recorder.end() }
    for await _ in recorder.happenings {}
  }

  private let header =
    #"{"inspection":1,"hello":{"push":"hello","protocol":1,"pid":7,"program":"shop","control":true}}"#
  private func update(n: Int, at time: Int = 0) -> String {
    #"{"push":"update","sub":1,"n":\#(n),"t":\#(time),"whole":\#(n == 1),"missed":0,"parts":{},"gone":{}}"#
  }
}

/// Yields each session of a link to a stream.
private final class Sessions: AppLinkDelegate {
  private let continuation: AsyncStream<AppSession>.Continuation
  init(_ continuation: AsyncStream<AppSession>.Continuation) { self.continuation = continuation }
  func connected(_ session: AppSession) { continuation.yield(session) }
  func updated(_ update: [String: JSONSlice], _ line: JSONSlice) {}
  func disconnected(_ reason: String) {}
}
