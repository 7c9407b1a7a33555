import Foundation
import Testing

@testable import Eventing
@testable import EventingInspection

/// Rows that change between two lines of one answer.
@Suite struct RowCursorTests {
  @Test func edgesThatGoBetweenTwoLinesHideNoOthers() throws {
    EventRegistry.start()
    defer { EventRegistry.stop() }
    let event = Event<Int>("source")
    let targets = (0..<6).map { Event<Int>("target \($0)") }
    let tokens = targets.map { event.forward(to: $0) }
    let (poller, id) = (Poller(), event.identity.number)
    poller.poll()
    var cursor = RowCursor(.graph, events: [id], since: 0, writesEmptyParts: true)
    var found: [String] = []
    func writeLine() throws {
      var line = JSONWriter()
      line.beginObject()
      cursor.write(poller, to: &line, room: 160)
      line.endObject()
      let json = try #require(try JSONSerialization.jsonObject(with: Data(line.bytes)) as? [String: Any])
      for row in json["graph"] as? [[String: Any]] ?? [] where row["from"] as? String == "event:\(id)" {
        found.append(try #require(row["to"] as? String))
      }
    }
    let names = targets.map { "event:\($0.identity.number)" }
    while found.count < 3, !cursor.isAtEnd { try writeLine() }
    #expect(found == Array(names[..<found.count]) && found.count < 5)
    event.remove(tokens[0])
    event.remove(tokens[1])
    poller.poll()
    while !cursor.isAtEnd { try writeLine() }
    #expect(Set(found) == Set(names))
    withExtendedLifetime(targets) {}
  }
}
