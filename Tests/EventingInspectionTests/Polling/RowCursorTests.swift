import Foundation
import Testing

@testable import Eventing
@testable import EventingInspection

/// Tests of an answer that is written in several lines. After the first lines, some of the rows
/// that the answer lists are removed. The lines after that must still have all rows that remain.
@Suite struct RowCursorTests {
  /// Writes edges of the graph line by line, and collects the events that the edges lead to.
  private struct Lines {
    let poller = Poller()
    private(set) var cursor: RowCursor
    private(set) var found: [String] = []
    /// The events that the edges of this test lead to. Other edges belong to other tests.
    let expected: [String]

    init(of event: UInt64, to targets: [Event<Int>]) {
      cursor = RowCursor(.graph, events: [event], since: 0, writesEmptyParts: true)
      expected = targets.map { "event:\($0.identity.number)" }
      poller.poll()
    }

    /// Writes lines of one or two edges each, until `count` edges or all edges are written.
    mutating func write(until count: Int = .max) throws {
      while found.count < count, !cursor.isAtEnd {
        var line = JSONWriter()
        line.beginObject()
        cursor.write(poller, to: &line, room: 160)
        line.endObject()
        let json = try #require(try JSONSerialization.jsonObject(with: Data(line.bytes)) as? [String: Any])
        let rows = json["graph"] as? [[String: Any]] ?? []
        found += rows.compactMap { $0["to"] as? String }.filter { expected.contains($0) }
      }
    }
  }

  @Test func edgesThatGoBetweenTwoLinesHideNoOthers() throws {
    EventRegistry.start()
    defer { EventRegistry.stop() }
    let event = Event<Int>("source")
    let targets = (0..<6).map { Event<Int>("target \($0)") }
    let tokens = targets.map { event.forward(to: $0) }
    var lines = Lines(of: event.identity.number, to: targets)
    try lines.write(until: 3)
    #expect(lines.found.count < 5 && lines.found.starts(with: lines.expected.prefix(3)))
    event.remove(tokens[0])
    event.remove(tokens[1])
    lines.poller.poll()
    try lines.write()
    #expect(Set(lines.found) == Set(lines.expected))
    withExtendedLifetime((event, targets)) {}
  }

  @Test func aBusThatGoesBetweenTwoLinesHidesNoOthers() throws {
    EventRegistry.start()
    defer { EventRegistry.stop() }
    var buses = (0..<6).map { _ in EventBus() }
    let events = buses.map { bus in bus.event(for: Int.self) }
    for bus in buses { EventRegistry.include(bus) }
    var lines = Lines(of: events[0].identity.number, to: events)
    try lines.write(until: 3)
    buses.removeFirst(2)
    lines.poller.poll()
    try lines.write()
    #expect(Set(lines.found) == Set(lines.expected))
    withExtendedLifetime((buses, events)) {}
  }
}
