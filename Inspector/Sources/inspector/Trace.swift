import ArgumentParser
import Foundation
import InspectorClient
import Synchronization

/// Records a trace of a running program into a file.
struct Trace: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Records what happens, for Perfetto (ui.perfetto.dev) or chrome://tracing.")

  @OptionGroup var app: AppOptions
  @Option(name: .shortAndLong, help: "The file to write, with mode 0600. One that exists is replaced.")
  var output = "trace.json"
  @Option(name: .shortAndLong, help: "The name or the id of an event; more than once for several. Without: all.")
  var event: [String] = []
  @Option(name: .shortAndLong, help: "How long; without, until ctrl-C.") var seconds: Double?
  @Option(help: "The size of the ring in the app. If it is full, the oldest records go.") var megabytes = 4

  func validate() throws {
    if let seconds, !(seconds > 0 && seconds <= 86_400) { throw ValidationError("expected more than 0 seconds") }
    if megabytes < 1 { throw ValidationError("expected 1 megabyte at least") }
  }

  func run() async throws {
    let connection = TraceConnection()
    let link = AppLink(path: app.socket, interval: nil, delegate: connection)
    link.start()
    defer { link.end() }
    let session = try await connection.first()
    let answer = try await session.request("snapshot", [("parts", #"["events"]"#)])
    let rows = answer.flatMap { $0.members?["parts"]?.members?["events"]?.elements ?? [] }
    let chosen = rows.filter { row in
      guard !event.isEmpty, let members = row.members else { return true }
      return event.contains { $0 == members["name"]?.string || Int($0) == members["id"]?.int }
    }
    let ids = chosen.compactMap { $0.members?["id"]?.int }
    guard !ids.isEmpty else {
      let names = rows.compactMap { $0.members?["name"]?.string }.sorted().prefix(20)
      let asked = event.isEmpty ? "an event" : "an event with the name or id \(event.joined(separator: " or "))"
      throw ValidationError("expected \(asked); there are: \(names.joined(separator: ", "))")
    }
    let (trace, granted) = try await connection.traces.start(session, events: ids, megabytes: megabytes)
    // Not before: until the trace runs there is nothing to save, and ctrl-C ends the process.
    let signals = Signals()
    let length = seconds.map { "\($0) s" } ?? "until ctrl-C"
    print("tracing \(ids.count) events of \(session.hello.program), \(granted) MB, \(length)", flushed: true)
    await withTaskGroup(of: Void.self) { group in
      if let seconds { group.addTask { try? await Task.sleep(for: .seconds(seconds)) } }
      group.addTask { await signals.wait() }
      await group.next()
      group.cancelAll()
    }
    let file = try await connection.traces.stop(session, trace: trace, events: chosen)
    try SessionRecorder.makeFile(at: output).write(contentsOf: Data(file.text.utf8))
    let lost = file.overwritten > 0 ? ", \(file.overwritten) older ones were overwritten" : ""
    print("\(output): \(file.count) records\(lost). Open it in ui.perfetto.dev or chrome://tracing.", flushed: true)
  }
}

/// Waits for the first connection, and collects the records.
private final class TraceConnection: AppLinkDelegate {
  let traces = TraceCollector()
  private let sessions: AsyncThrowingStream<AppSession, any Error>
  private let continuation: AsyncThrowingStream<AppSession, any Error>.Continuation

  init() { (sessions, continuation) = AsyncThrowingStream.makeStream() }

  func connected(_ session: AppSession) { continuation.yield(session) }
  func updated(_ update: [String: JSONSlice], _ line: JSONSlice) {}
  func traced(_ records: JSONSlice, of trace: Int) { traces.add(records, to: trace) }
  func disconnected(_ reason: String) { continuation.finish(throwing: LinkError(reason)) }

  /// Waits for the first connection, and returns it. Throws the reason if none can be made.
  func first() async throws -> AppSession {
    for try await session in sessions { return session }
    throw LinkError("the app has ended")
  }
}
