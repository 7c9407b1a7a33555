import Foundation
import InspectorClient
import Synchronization

/// The scripted app's side of the connection with one client.
final class FakeClient: Sendable {
  let socket: LineSocket
  private let app: FakeApp
  private let state = Mutex(State())

  private struct State {
    var subscription: Subscription?
    var control = false
    var traces: [Int: (events: [Int], from: Int)] = [:]
  }

  private struct Subscription {
    var interval: Int
    var parts: [String]
    var number = 0
    var dueAt = 0
    var sent: [String: [String: Row]] = [:]
  }

  init(_ socket: LineSocket, _ app: FakeApp) { (self.socket, self.app) = (socket, app) }

  /// Answers the client's requests until the client disconnects.
  func run() {
    var buffer = LineBuffer()
    let events = app.change { $0.events.count }
    let hello: Value = [
      "push": "hello", "protocol": 1, "library": "0.9", "pid": 4711, "program": "shop", "epoch": 1_793_354_528_123,
      "t": 0, "control": .bool(app.control), "events": .int(events),
      "limits": ["line": 65_536, "reply": 1_048_576, "megabytes": 64],
    ]
    do {
      try socket.write(hello.json)
      while let line = try socket.read(&buffer) {
        app.received(String(decoding: line, as: UTF8.self))
        let keys = try JSONSlice(line).members ?? [:]
        let id = keys["id"].map { String(decoding: $0.bytes, as: UTF8.self) } ?? "null"
        for answer in answers(keys["do"]?.string ?? "", keys) {
          try socket.write(answer.hasPrefix("{\"push\"") ? answer : #"{"id":\#(id),\#(answer)}"#)
        }
      }
    } catch {
      socket.end()
    }
  }

  private func answers(_ verb: String, _ keys: [String: JSONSlice]) -> [String] {
    let parts = keys["parts"]?.elements?.compactMap(\.string) ?? World.parts
    switch verb {
    case "hello":
      let control = app.control && keys["control"]?.bool == true
      state.withLock { $0.control = control }
      return [#""ok":true,"protocol":1,"control":\#(control)"#]
    case "snapshot":
      let (time, rows) = app.change { ($0.time, $0.parts(parts)) }
      return rows.isEmpty
        ? [#""ok":true,"t":\#(time),"parts":{},"more":false"#]
        : rows.enumerated().map { index, part in
          // Each part has a line of its own, as if the app had split an answer that is too long.
          let text = "\"\(part.key)\":\(Value.array(part.value.values.map { .object($0) }).json)"
          return #""ok":true,"t":\#(time),"parts":{\#(text)},"more":\#(index + 1 < rows.count)"#
        }
    case "subscribe":
      let interval = max(50, keys["interval"]?.int ?? 250)
      state.withLock { $0.subscription = Subscription(interval: interval, parts: parts) }
      return [#""ok":true,"sub":1,"interval":\#(interval)"#]
    case "trace": return trace(keys)
    case "lock", "unlock": return [locked(verb == "lock", keys)]
    case "perform": return [performed(keys)]
    default: return [#""ok":false,"error":{"code":"unknown","message":"There is no such request."}"#]
    }
  }

  private func locked(_ locks: Bool, _ keys: [String: JSONSlice]) -> String {
    guard state.withLock({ $0.control }) else {
      return #""ok":false,"error":{"code":"control","message":"This needs control on both sides."}"#
    }
    let (event, handler) = (keys["event"]?.int ?? 0, keys["handler"]?.int)
    let found = app.change { world in
      if let handler {
        world.handlers[handler]?["locked"] = .bool(locks)
        return world.handlers[handler] != nil
      }
      world.events[event]?["locked"] = .bool(locks)
      return world.events[event] != nil
    }
    return #""ok":true,"found":\#(found)"#
  }

  private func performed(_ keys: [String: JSONSlice]) -> String {
    guard keys["latest"]?.int == app.change({ $0.latest(table: keys["table"]?.int ?? 0) }) else {
      return #""ok":false,"error":{"code":"request","message":"expected the table's latest"}"#
    }
    let rows = Set(keys["rows"]?.elements?.compactMap(\.int) ?? [])
    let count = app.change { $0.perform(on: rows, table: keys["table"]?.int ?? 0) }
    return #""ok":true,"count":\#(count)"#
  }

  private func trace(_ keys: [String: JSONSlice]) -> [String] {
    let (world, action) = (app.change { $0 }, keys["action"]?.string)
    if action == "start" {
      let events = keys["events"]?.elements?.compactMap(\.int) ?? []
      guard !events.isEmpty, events.allSatisfy({ world.events[$0] != nil }) else {
        return [#""ok":false,"error":{"code":"event","message":"There is no such event."}"#]
      }
      state.withLock { $0.traces[1] = (events, world.time) }
      return [#""ok":true,"trace":1,"megabytes":\#(min(64, keys["megabytes"]?.int ?? 4))"#]
    }
    guard let trace = state.withLock({ $0.traces.removeValue(forKey: keys["trace"]?.int ?? 0) }) else {
      return [#""ok":false,"error":{"code":"trace","message":"There is no such trace."}"#]
    }
    let records = FakeTrace.records(world, events: trace.events, from: trace.from)
    let half = records.count / 2
    let pushes = [records[..<half], records[half...]].map { part in
      #"{"push":"trace","trace":1,"records":\#(Value.array(Array(part)).json)}"#
    }
    return pushes + [#""ok":true,"trace":1,"count":\#(records.count),"overwritten":3"#]
  }

  /// Sends an update if one is due.
  func tick(_ world: World) {
    let lines: [String] = state.withLock { state in
      guard var subscription = state.subscription, world.time >= subscription.dueAt else { return [] }
      subscription.number += 1
      subscription.dueAt = world.time + subscription.interval * 1_000_000
      let now = world.parts(subscription.parts)
      var (changed, gone): ([(part: String, row: Value)], [String: Value]) = ([], [:])
      for (part, rows) in now {
        let before = subscription.sent[part] ?? [:]
        changed += rows.filter { before[$0.key] != $0.value }.map { (part, .object($0.value)) }
        let old = before.filter { rows[$0.key] == nil }
        if !old.isEmpty { gone[part] = .array(old.map { part == "graph" ? .object($0.value) : .int(Int($0.key)!) }) }
      }
      let isFirst = subscription.sent.isEmpty
      subscription.sent = now
      state.subscription = subscription
      // An update that is too long is cut between rows; all of its lines have its number.
      return stride(from: 0, to: max(1, changed.count), by: 1_000).map { start in
        let end = min(start + 1_000, changed.count)
        let parts = Dictionary(grouping: changed[start..<end], by: \.part).mapValues { Value.array($0.map(\.row)) }
        let update: Value = [
          "push": "update", "sub": 1, "n": .int(subscription.number), "t": .int(world.time), "whole": .bool(isFirst),
          "missed": 0, "parts": .object(parts), "gone": .object(start == 0 ? gone : [:]),
          "more": .bool(end < changed.count),
        ]
        return update.json
      }
    }
    for line in lines { try? socket.write(line) }
  }
}
