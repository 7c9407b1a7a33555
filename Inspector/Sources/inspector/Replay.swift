import ArgumentParser
import Foundation
import InspectorClient
import InspectorPage

/// Shows a recorded inspection, in the browser or as a table.
struct Replay: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Shows what `inspector record` wrote, as it was told then.")

  @Argument(help: "A file that `inspector record` wrote.") var file: String
  @Flag(help: "Draws a table in the terminal instead.") var top = false
  @Option(help: "The factor by which the replay is faster than the recording.") var speed = 1.0
  @Option(help: "The port of the page on 127.0.0.1; 0 takes any that is free.") var port: UInt16 = 0

  func validate() throws {
    if !(speed >= 0.01 && speed <= 1_000) { throw ValidationError("expected a speed of 0.01 to 1000, got \(speed)") }
  }

  func run() async throws {
    let file = try SessionFile(path: file)
    var notes = file.damagedLines.prefix(5).map { "line \($0) is no update, and is skipped" }
    if file.damagedLines.count > 5 { notes.append("\(file.damagedLines.count - 5) more such lines are skipped") }
    if file.isCut { notes.append("the recording was cut; its \(file.count) whole updates are shown") }
    for note in notes { FileHandle.standardError.write(Data("\(self.file): \(note)\n".utf8)) }
    let app = ReplayedApp(file, speed: speed)
    if top {
      let table = Top(interval: 250)
      let link = AppLink(parts: Top.parts, delegate: table, connect: app.connect)
      return await table.run(link, until: Signals())
    }
    let feed = Feed()
    try await serve(AppLink(delegate: feed, connect: app.connect), feed, port: port, until: Signals())
  }
}
