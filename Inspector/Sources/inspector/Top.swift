import Foundation
import InspectorClient
import Synchronization

/// Draws the table again and again until SIGINT or SIGTERM arrives.
final class Top: AppLinkDelegate {
  private let interval: Int
  private let state = Mutex((model: AppModel(), title: "not connected yet"))

  /// Creates an object that draws the table, beginning with the call of `run`.
  ///
  /// - Parameter interval: The milliseconds between two drawings, 250 at least.
  init(interval: Int) { self.interval = interval }

  func connected(_ session: AppSession) {
    state.withLock { $0 = (AppModel(), "\(session.hello.program) (\(session.hello.pid))") }
  }

  func updated(_ update: [String: JSONSlice], _ line: JSONSlice) { state.withLock { $0.model.apply(update) } }

  func disconnected(_ reason: String) { state.withLock { $0.title = "not connected: \(reason)" } }

  /// The parts of an update that the table shows.
  static let parts = ["events", "warnings"]

  /// Draws until SIGINT or SIGTERM arrives. A terminal gets its former contents back; a pipe gets
  /// one table below the other.
  func run(_ link: AppLink, until signals: Signals) async {
    link.start()
    let isTerminal = isatty(STDOUT_FILENO) == 1
    if isTerminal { print("\u{1b}[?1049h\u{1b}[?25l", terminator: "", flushed: true) }
    await withTaskGroup(of: Void.self) { group in
      group.addTask {
        while !Task.isCancelled {
          try? await Task.sleep(for: .milliseconds(max(250, self.interval)))
          self.draw(isTerminal)
        }
      }
      group.addTask { await signals.wait() }
      await group.next()
      group.cancelAll()
    }
    if isTerminal { print("\u{1b}[?25h\u{1b}[?1049l", terminator: "", flushed: true) }
    link.end()
  }

  private func draw(_ isTerminal: Bool) {
    var size = winsize()
    let known = isTerminal && ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0
    let (width, height) = known ? (Int(size.ws_col), Int(size.ws_row)) : (120, 50)
    let (model, title) = state.withLock { $0 }
    let lines = TopTable.lines(model, title: title, width: width, height: height)
    guard isTerminal else { return print(lines.joined(separator: "\n") + "\n", flushed: true) }
    // Clears the rest of each line, and then everything below the last line. Clearing the whole
    // screen first would make the table flicker.
    let text = "\u{1b}[H" + lines.map { $0 + "\u{1b}[K" }.joined(separator: "\r\n") + "\u{1b}[J"
    print(text, terminator: "", flushed: true)
  }
}
