import Eventing
import Foundation

struct ReplayFile: Sendable {
  struct Entry: Sendable {
    /// The first line has the number 1.
    let line: Int
    let number: Int?
    let name: String
    let time: Int64
    let sender: Int?
    let cause: Int?
    /// The payload stands in it.
    let text: Data
  }

  private(set) var entries: [Entry] = []
  private(set) var types: [String: String] = [:]
  private(set) var damaged: [(line: Int, reason: String)] = []
  private(set) var lostCount = 0
  /// The file has the line `{"end":true,…}`.
  private(set) var isComplete = false

  init(_ file: URL) throws {
    let data: Data
    do { data = try Data(contentsOf: file) } catch {
      throw InspectionError(.system, "expected a recording at \(file.path), got: \(error.localizedDescription)")
    }
    var lines = data.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    // If the last line is whole, nothing follows its line break.
    let isCut = lines.removeLast().isEmpty == false
    guard let first = lines.first, let header = try? JSONDecoder().decode(Header.self, from: first) else {
      throw ReplayFile.error(1, "expected the header of a recording, as {\"recording\":1,…}, got another line")
    }
    guard header.recording == 1 else {
      let text = "expected a recording of version 1, got version \(header.recording)"
      throw InspectionError(.version, "line 1: \(text)", line: 1)
    }
    for (number, line) in zip(2..., lines.dropFirst()) where !line.isEmpty { read(line, number) }
    if isCut { damaged.append((lines.count + 1, "expected a line break at the end, got a line that is cut")) }
  }

  private mutating func read(_ line: Data, _ number: Int) {
    do {
      let members = try JSONDecoder().decode(Members.self, from: line)
      if members.end == true {
        isComplete = true
      } else if members.gap == true, let count = members.count {
        (lostCount, _) = lostCount.addingReportingOverflow(max(0, count))
        damaged.append((number, "expected all occurrences, got a gap: \(count) came faster than they could be written"))
      } else if let name = members.as, let time = members.t {
        entries.append(
          Entry(
            line: number, number: members.n, name: name, time: time, sender: members.sender, cause: members.cause,
            text: line))
      } else if let name = members.event {
        types[name] = members.type
      } else {
        damaged.append((number, "expected an occurrence, an event or the end, got another line"))
      }
    } catch {
      // The error itself may quote the line, and so a payload.
      let reason = textWithoutValues(of: error) ?? "a \(type(of: error))"
      damaged.append((number, "expected a JSON object of a recording; the decoder says: \(reason)"))
    }
  }

  static func error(_ line: Int, _ reason: String) -> InspectionError {
    InspectionError(.damagedLine, "line \(line): \(reason)", line: line)
  }

  private struct Header: Decodable {
    let recording: Int
  }

  private struct Members: Decodable {
    let end: Bool?
    let gap: Bool?
    let count: Int?
    let event: String?
    let type: String?
    let n: Int?
    let `as`: String?
    let t: Int64?
    let sender: Int?
    let cause: Int?
  }
}
