import Foundation

/// The updates that an app sent to an inspector, as lines of a file.
///
/// A session begins with `{"inspection":1,"hello":…}`, which has the app's first line. The updates
/// follow, as the app sent them. An app that ended and came back begins another session. The last
/// line is `{"end":true,"count":…}`. A file without it was cut; its complete lines are still read.
public struct SessionFile: Sendable {
  /// One connection to the app.
  public struct Session: Sendable {
    /// The app's first line.
    public let hello: String
    /// The updates, each with its time in nanoseconds of the app's clock.
    public internal(set) var updates: [(time: Int, line: String)] = []
  }

  /// The sessions, the oldest first. At least one.
  public private(set) var sessions: [Session] = []
  /// The numbers, from 1, of the lines that begin no session, are no update, and are not the last
  /// line. `init(path:)` skips these lines.
  public private(set) var damagedLines: [Int] = []
  /// Whether the line `{"end":true,…}` is missing.
  public private(set) var isCut = true

  /// The number of updates.
  public var count: Int { sessions.reduce(0) { $0 + $1.updates.count } }

  /// Reads a file.
  ///
  /// - Parameter path: The path of a file that `inspector record` wrote.
  /// - Throws: `LinkError` if there is no such file, or if it does not begin as such a file does.
  /// - Complexity: O(bytes), all of which are kept.
  public init(path: String) throws(LinkError) {
    guard let data = FileManager.default.contents(atPath: path) else { throw LinkError("cannot read \(path)") }
    for (index, bytes) in data.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated()
    where !bytes.isEmpty {
      let members = (try? JSONSlice(Array(bytes)))?.members ?? [:]
      if sessions.isEmpty { try Self.checkHeader(members, bytes, path) }
      if let hello = members["hello"] {
        sessions.append(Session(hello: String(decoding: hello.bytes, as: UTF8.self)))
      } else if members["push"]?.string == "update", let time = members["t"]?.int {
        sessions[sessions.count - 1].updates.append((time, String(decoding: bytes, as: UTF8.self)))
      } else if members["end"]?.bool == true {
        isCut = false
      } else {
        damagedLines.append(index + 1)
      }
    }
    if sessions.isEmpty { throw LinkError("\(path): expected a recorded inspection, got an empty file") }
  }

  private static func checkHeader(
    _ members: [String: JSONSlice], _ line: Data, _ path: String
  ) throws(LinkError) {
    if members["recording"] != nil {
      throw LinkError(
        "\(path): expected a recorded inspection, got a recording of payloads; EventPlayback replays it in the app")
    }
    guard let version = members["inspection"]?.int else {
      let begin = String(decoding: line.prefix(40), as: UTF8.self)
      throw LinkError(#"\#(path): expected a first line {"inspection":1,"hello":…}, got \#(begin)"#)
    }
    guard version == 1, members["hello"] != nil else {
      throw LinkError("\(path): expected version 1 of a recorded inspection, got version \(version)")
    }
  }
}
