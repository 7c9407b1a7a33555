import Foundation
import Synchronization

/// Plays a recorded file to an ``AppLink``, the inspector's connection to an app. The replayed app
/// takes the place of the app that was recorded.
///
/// Each connection plays one session of the file, then ends. The link connects again, and the new
/// connection plays the next session. The times between updates are the recorded times, divided by
/// the speed. The replayed app answers the requests `hello` and `subscribe`, and refuses others.
public final class ReplayedApp: Sendable {
  private let file: SessionFile
  private let speed: Double
  private let next = Mutex(0)
  private static let refusal = #""ok":false,"error":{"code":"recorded","message":"A recording can only be looked at."}"#

  /// Creates an app.
  ///
  /// - Parameters:
  ///   - file: The recorded file.
  ///   - speed: The factor by which the replay is faster than the recording; above 0.
  public init(_ file: SessionFile, speed: Double) { (self.file, self.speed) = (file, speed) }

  /// Connects to the app, which then plays its next session.
  ///
  /// - Returns: The inspector's end of the connection.
  /// - Throws: `LinkError` after the last session.
  public func connect() throws(LinkError) -> LineSocket {
    let place = next.withLock { next in
      defer { next += 1 }
      return next
    }
    guard place < file.sessions.count else { throw LinkError("the recording has ended") }
    var ends: [Int32] = [-1, -1]
    #if canImport(Glibc)
      let result = socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends)
    #else
      let result = socketpair(AF_UNIX, SOCK_STREAM, 0, &ends)
    #endif
    guard result == 0 else { throw LinkError("no pair of sockets: \(String(cString: strerror(errno)))") }
    let (mine, theirs) = (LineSocket(connected: ends[0]), LineSocket(connected: ends[1]))
    let session = file.sessions[place]
    Thread.detachNewThread { self.tell(session, mine) }
    return theirs
  }

  /// Answers the link's requests until the connection ends. When the link subscribes, starts a
  /// thread that sends the updates.
  private func tell(_ session: SessionFile.Session, _ socket: LineSocket) {
    defer { socket.end() }
    var buffer = LineBuffer()
    var isSubscribed = false
    do { try socket.write(session.hello) } catch { return }
    while let line = try? socket.read(&buffer) {
      let keys = (try? JSONSlice(line))?.members ?? [:]
      let id = keys["id"].map { String(decoding: $0.bytes, as: UTF8.self) } ?? "null"
      let verb = keys["do"]?.string
      let answer =
        switch verb {
        case "hello": #""ok":true,"protocol":1,"control":false"#
        case "subscribe": #""ok":true,"sub":1,"interval":250"#
        default: Self.refusal
        }
      do { try socket.write(#"{"id":\#(id),\#(answer)}"#) } catch { return }
      if verb == "subscribe", !isSubscribed {
        isSubscribed = true
        Thread.detachNewThread { self.sendUpdates(session, socket) }
      }
    }
  }

  private func sendUpdates(_ session: SessionFile.Session, _ socket: LineSocket) {
    defer { socket.end() }
    let (begin, start) = (session.updates.first?.time ?? 0, ContinuousClock.now)
    do {
      for update in session.updates {
        let due = start + .nanoseconds(Int64(Double(max(0, update.time - begin)) / speed))
        let rest = (due - .now).components
        if rest.seconds >= 0 { Thread.sleep(forTimeInterval: Double(rest.seconds) + Double(rest.attoseconds) / 1e18) }
        try socket.write(update.line)
      }
      try socket.write(#"{"push":"bye","reason":"the recording has ended"}"#)
    } catch { return }
  }
}
