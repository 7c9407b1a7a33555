import ArgumentParser
import Foundation
import InspectorClient

/// Writes the updates of an app into a file.
struct Record: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Records what the page would show, for `inspector replay`.",
    discussion: """
      The file holds the names, rates, waits and warnings of events and handlers, and no payload. Only what changed \
      is written, four times a second. If the app ends and comes back, the recording goes on.
      """)

  @OptionGroup var app: AppOptions
  @Option(name: .shortAndLong, help: "The file to write, with mode 0600. One that exists is replaced.")
  var output = "inspection.jsonl"
  @Option(name: .shortAndLong, help: "How long; without, until ctrl-C.") var seconds: Double?
  @Option(help: "The milliseconds between two updates.") var interval = 250

  func validate() throws {
    if let seconds, !(seconds > 0 && seconds <= 604_800) { throw ValidationError("expected 0 to 604800 seconds") }
    if interval < 50 || interval > 60_000 { throw ValidationError("expected an interval of 50 to 60000 ms") }
  }

  func run() async throws {
    let signals = Signals()
    let recorder = try SessionRecorder(path: output)
    let link = AppLink(path: app.socket, interval: interval, delegate: recorder)
    link.start()
    defer { link.end() }
    await withTaskGroup(of: Void.self) { group in
      group.addTask {
        for await happening in recorder.happenings {
          switch happening {
          case .connected(let hello): print("recording \(hello.program) (\(hello.pid))", flushed: true)
          case .disconnected(let reason): print("not connected: \(reason)", flushed: true)
          case .failed: return
          }
        }
      }
      if let seconds { group.addTask { try? await Task.sleep(for: .seconds(seconds)) } }
      group.addTask { await signals.wait() }
      await group.next()
      group.cancelAll()
    }
    try recorder.end()
    print("\(output): \(recorder.count) updates. Look at it with: inspector replay \(output)", flushed: true)
  }
}
