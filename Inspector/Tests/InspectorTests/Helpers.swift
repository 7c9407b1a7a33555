import FakeApp
import Foundation
import InspectorClient
import Synchronization
import Testing

@testable import InspectorPage

/// A path for a socket that no other test uses.
func socketPath() -> String { "/tmp/inspector-test-\(getpid())-\(UInt32.random(in: 0 ... .max)).sock" }

/// Waits until a condition is true. The limit only guards against hangs, and is long because all
/// tests run at once: on a busy machine they may take a minute and a half.
func eventually(
  _ what: Comment, sourceLocation: SourceLocation = #_sourceLocation, _ condition: () async throws -> Bool
) async throws {
  let deadline = ContinuousClock.now + .seconds(150)
  while try await !condition() {
    if ContinuousClock.now > deadline {
      Issue.record(what, sourceLocation: sourceLocation)
      throw CancellationError()
    }
    try await Task.sleep(for: .milliseconds(10))
  }
}

/// Keeps the state, the updates and the reasons that a link reports.
final class Recorder: AppLinkDelegate {
  struct State {
    var model = AppModel()
    var sessions = 0
    var reasons: [String] = []
    var updates = 0
  }
  let state = Mutex(State())
  let traces = TraceCollector()

  var model: AppModel { state.withLock { $0.model } }

  func connected(_ session: AppSession) {
    state.withLock { state in
      state.sessions += 1
      state.model = AppModel()
    }
  }
  func updated(_ update: [String: JSONSlice], _ line: JSONSlice) {
    state.withLock { state in
      state.updates += 1
      state.model.apply(update)
    }
  }
  func traced(_ records: JSONSlice, of trace: Int) { traces.add(records, to: trace) }
  func disconnected(_ reason: String) { state.withLock { $0.reasons.append(reason) } }

  /// The row of an event.
  func event(_ id: Int) -> [String: JSONSlice]? { model.parts["events"]?[.id(id)]?.members }
}

/// Calls a closure with a scripted app and a link to it, and ends both afterwards.
func withLink(
  control: Bool = false, world: World = .shop(), _ body: (FakeApp, AppLink, Recorder) async throws -> Void
) async throws {
  let app = try FakeApp(path: socketPath(), control: true, world: world)
  let recorder = Recorder()
  let link = AppLink(path: app.path, control: control, interval: 50, delegate: recorder)
  link.start()
  defer {
    link.end()
    app.end()
  }
  try await eventually("no first update") { recorder.state.withLock { $0.updates > 0 } }
  try await body(app, link, recorder)
}

/// Calls a closure with a scripted app and the server of its page, and ends both afterwards.
func withPage(
  control: Bool = false, feed: Feed = Feed(), _ body: (FakeApp, PageServer, Feed) async throws -> Void
) async throws {
  let app = try FakeApp(path: socketPath(), control: true, world: .shop())
  let link = AppLink(path: app.path, control: control, interval: 50, delegate: feed)
  let server = try PageServer(port: 0, link: link, feed: feed)
  link.start()
  let (ready, continuation) = AsyncStream<Void>.makeStream()
  let task = Task { try await server.run { continuation.finish() } }
  defer {
    link.end()
    app.end()
  }
  for await _ in ready {}
  try await eventually("no link") { link.session != nil }
  do { try await body(app, server, feed) } catch {
    task.cancel()
    _ = await task.result
    throw error
  }
  task.cancel()
  _ = await task.result
}

/// Sends a text to a port. Returns what comes until the other side closes, or until the text `end`
/// has come.
func exchange(_ port: UInt16, _ text: String, until end: String? = nil) async -> String {
  await withCheckedContinuation { continuation in
    Thread.detachNewThread {
      let descriptor = Descriptor.connect(loopback: port)
      Descriptor.limit(descriptor, SO_RCVTIMEO, seconds: 60)
      // A server that refuses the request early may not read all bytes.
      _ = Descriptor.write(Array(text.utf8), to: descriptor)
      var bytes: [UInt8] = []
      var chunk = [UInt8](repeating: 0, count: 1 << 16)
      while true {
        let count = recv(descriptor, &chunk, chunk.count, 0)
        guard count > 0 else { break }
        bytes += chunk[..<count]
        if let end, String(decoding: bytes, as: UTF8.self).contains(end) { break }
      }
      close(descriptor)
      continuation.resume(returning: String(decoding: bytes, as: UTF8.self))
    }
  }
}

extension PageServer {
  /// Sends a request as the page does, except for what the arguments change, and returns the
  /// response.
  func request(
    _ method: String = "GET", _ path: String, host: String? = nil, origin: String? = nil, token: String? = nil,
    more: String = "", body: String = "", until end: String? = nil
  ) async -> String {
    var head = "\(method) \(path) HTTP/1.1\r\nHost: \(host ?? "127.0.0.1:\(gate.port)")\r\nConnection: close\r\n"
    if let origin { head += "Origin: \(origin)\r\n" }
    if let token { head += "Authorization: Bearer \(token)\r\n" }
    if !body.isEmpty { head += "Content-Length: \(body.utf8.count)\r\n" }
    return await exchange(gate.port, head + more + "\r\n" + body, until: end)
  }

  var origin: String { "http://127.0.0.1:\(gate.port)" }
}

/// Returns the status code of an HTTP response.
func status(_ answer: String) -> Int? { answer.split(separator: " ").dropFirst().first.flatMap { Int($0) } }
