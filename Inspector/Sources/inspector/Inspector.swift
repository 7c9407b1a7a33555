import ArgumentParser
import Foundation
import InspectorClient
import InspectorPage

/// The program `inspector`.
@main
struct Inspector: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "inspector",
    abstract: "Shows the events of a running program.",
    discussion: """
      The program links EventingInspection and listens: try Inspection.serve(at: "/tmp/app.sock"), or the environment \
      variable EVENTING_INSPECT=/tmp/app-%p.sock.

      record keeps what the page shows, and replay shows it again. Recordings of payloads are made inside the app, \
      since payloads do not leave it through the socket: EventRecording(to: "monday.jsonl") writes one, \
      EventPlayback("monday.jsonl").run(into:) replays it. The documentation of EventingInspection shows both.
      """,
    subcommands: [Show.self, Trace.self, Record.self, Replay.self], defaultSubcommand: Show.self)
}

/// The argument that names the app's socket.
struct AppOptions: ParsableArguments {
  @Argument(help: "The app's socket. %p stands for the process id: the newest of several is taken.")
  var socket: String
}

/// Serves the page, or draws a table.
struct Show: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Serves a page for the browser, or draws a table here with --top.")

  @OptionGroup var app: AppOptions
  @Flag(help: "Draws a table in the terminal instead.") var top = false
  @Flag(help: "Lets the page lock and unlock, and send or discard dead letters, if the app allows it.")
  var control = false
  @Option(help: "The port of the page on 127.0.0.1; 0 takes any that is free.") var port: UInt16 = 0
  @Option(help: "The milliseconds between two updates.") var interval = 250

  func validate() throws {
    if interval < 50 || interval > 60_000 { throw ValidationError("expected an interval of 50 to 60000 ms") }
    if top && control { throw ValidationError("--top has nothing that --control would allow") }
  }

  func run() async throws {
    if top {
      let table = Top(interval: interval)
      let link = AppLink(path: app.socket, interval: interval, parts: Top.parts, delegate: table)
      return await table.run(link, until: Signals())
    }
    let feed = Feed()
    let link = AppLink(path: app.socket, control: control, interval: interval, delegate: feed)
    try await serve(link, feed, port: port, until: Signals())
  }
}

/// Serves the page until SIGINT or SIGTERM arrives.
func serve(_ link: AppLink, _ feed: Feed, port: UInt16, until signals: Signals) async throws {
  let server = try PageServer(port: port, link: link, feed: feed)
  link.start()
  try await withThrowingTaskGroup(of: Void.self) { group in
    group.addTask { try await server.run { print(server.url, terminator: "\n", flushed: true) } }
    group.addTask { await signals.wait() }
    defer { group.cancelAll() }
    try await group.next()
  }
  link.end()
}

/// Prints and flushes, since the output may be a pipe that is read line by line. Ends the program if
/// the reader of the pipe has ended, as `head` does.
func print(_ text: String, terminator: String = "\n", flushed: Bool) {
  do { try FileHandle.standardOutput.write(contentsOf: Data((text + terminator).utf8)) } catch { exit(0) }
}
