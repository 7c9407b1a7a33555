/// The contents of a scripted app: the rows of the protocol, and the rates at which their counts
/// grow.
public struct World: Sendable {
  /// The rows of each part, by their ids; edges by their ends, their kind and their label.
  public var events: [Int: Row] = [:]
  public var handlers: [Int: Row] = [:]
  public var graph: [String: Row] = [:]
  public var waits: [Int: Row] = [:]
  public var warnings: [Int: Row] = [:]
  public var tables: [Int: Row] = [:]
  /// The number of occurrences per second of each event.
  public var rates: [Int: Double] = [:]
  /// The time in nanoseconds.
  public var time = 0
  /// The handlers whose call does not return, each with the time at which that call began.
  public var stuck: [Int: Int] = [:]
  private var rests: [Int: Double] = [:]

  public init() {}

  /// Adds an event.
  public mutating func event(
    _ id: Int, _ name: String?, _ type: String, rate: Double, kind: String = "event", of: Int? = nil
  ) {
    events[id] = [
      "id": .int(id), "name": name.map(Value.text) ?? nil, "type": .text(type), "kind": .text(kind),
      "of": of.map(Value.int) ?? nil, "sequence": 0, "waiting": 0, "handlers": 0, "unheard": nil, "locked": false,
      "finished": false, "busyAt": nil, "madeAt": .int(time),
    ]
    rates[id] = rate
  }

  /// Adds a handler.
  public mutating func handler(
    _ id: Int, of event: Int, _ name: String?, _ file: String? = nil, _ line: Int? = nil, delivery: String = "inline",
    lane: Int? = nil, p50: Int? = nil
  ) {
    handlers[id] = [
      "id": .int(id), "event": .int(event), "name": name.map(Value.text) ?? nil, "file": file.map(Value.text) ?? nil,
      "line": line.map(Value.int) ?? nil, "delivery": .text(delivery), "lane": lane.map(Value.int) ?? nil,
      "priority": 0, "tags": [], "once": false, "locked": false, "owner": "none", "ownerType": nil, "calls": 0,
      "ended": 0, "failed": nil, "skipped": 0, "dropped": 0, "held": 0, "waiting": 0,
      "running": lane == nil ? nil : 0, "runningAt": nil, "p50Ns": p50.map(Value.int) ?? nil,
      "p99Ns": p50.map { .int($0 * 7) } ?? nil, "timed": p50 == nil ? 0 : 1_000,
    ]
    guard case .int(let count)? = events[event]?["handlers"] else { return }
    events[event]?["handlers"] = .int(count + 1)
  }

  /// Adds an edge of the graph.
  public mutating func edge(_ from: String, _ to: String, _ kind: String, label: String? = nil, count: Int? = 0) {
    graph["\(from) \(to) \(kind) \(label ?? "")"] = [
      "from": .text(from), "to": .text(to), "kind": .text(kind), "count": count.map(Value.int) ?? nil,
      "label": label.map(Value.text) ?? nil,
    ]
  }

  /// Moves the time forward, and delivers as many occurrences as the rates say.
  public mutating func advance(by nanoseconds: Int) {
    time += nanoseconds
    var delivered: [Int: Int] = [:]
    for (id, rate) in rates where rate > 0 {
      let due = rests[id, default: 0] + rate * Double(nanoseconds) / 1e9
      let count = Int(due)
      rests[id] = due - Double(count)
      guard count > 0 else { continue }
      delivered[id] = count
      events[id]?.add(count, to: "sequence")
    }
    for (id, handler) in handlers {
      guard case .int(let event)? = handler["event"], let count = delivered[event] else { continue }
      if stuck[id] != nil {
        handlers[id]?.add(count, to: "waiting")
        continue
      }
      handlers[id]?.add(count, to: "calls")
      handlers[id]?.add(count, to: "ended")
    }
    for (key, edge) in graph {
      guard case .text(let from)? = edge["from"], let event = Int(from.dropFirst("event:".count)),
        let count = delivered[event], edge["count"] != .null
      else { continue }
      graph[key]?.add(count, to: "count")
    }
    for (id, since) in stuck where time - since >= 1_000_000_000 && warnings[1_000 + id] == nil {
      warn(
        1_000 + id, "stuck", event: handlers[id]?["event"] ?? 0, handler: .int(id), since: since,
        "A call of \(handlers[id]?["name"]?.json ?? "a handler") has not returned.")
    }
  }

  /// Adds a warning.
  public mutating func warn(
    _ id: Int, _ code: String, event: Value, handler: Value = nil, since: Int, count: Int = 1, limit: Int = 1,
    _ text: String
  ) {
    warnings[id] = [
      "id": .int(id), "code": .text(code), "event": event, "handler": handler, "sinceAt": .int(since),
      "count": .int(count), "limit": .int(limit), "text": .text(text),
    ]
  }

  /// Adds a table with two actions. Its rows count from 1.
  public mutating func table(_ id: Int, _ title: String, _ columns: [String], _ rows: [[String]], count: Int? = nil) {
    tables[id] = [
      "id": .int(id), "title": .text(title), "columns": .array(columns.map { .text($0) }),
      "actions": ["Send again", "Discard"], "count": .int(count ?? rows.count), "latest": .int(rows.count),
      "rows": .array(
        rows.enumerated().map { index, cells in
          .object(["id": .int(index + 1), "bad": .bool(index == 0), "cells": .array(cells.map { .text($0) })])
        }),
    ]
  }

  /// Removes rows of a table, as an action does, and returns their number.
  mutating func perform(on ids: Set<Int>, table: Int) -> Int {
    guard case .array(let rows)? = tables[table]?["rows"] else { return 0 }
    let left = rows.filter { row in
      guard case .object(let members) = row, case .int(let id)? = members["id"] else { return true }
      return !ids.contains(id)
    }
    tables[table]?["rows"] = .array(left)
    tables[table]?["count"] = .int(left.count)
    return rows.count - left.count
  }

  func latest(table: Int) -> Int? { if case .int(let latest)? = tables[table]?["latest"] { latest } else { nil } }

  /// The names of all parts.
  static let parts = ["events", "handlers", "graph", "waits", "warnings", "tables"]

  /// Returns the rows of the named parts, by part and by a key that is unique in the part.
  func parts(_ names: [String]) -> [String: [String: Row]] {
    func keyed(_ rows: [Int: Row]) -> [String: Row] { Dictionary(uniqueKeysWithValues: rows.map { ("\($0)", $1) }) }
    let all = [
      "events": keyed(events), "handlers": keyed(handlers), "graph": graph, "waits": keyed(waits),
      "warnings": keyed(warnings), "tables": keyed(tables),
    ]
    return all.filter { names.contains($0.key) }
  }
}

extension Row {
  mutating func add(_ count: Int, to key: String) {
    guard case .int(let before)? = self[key] else { return }
    self[key] = .int(before + count)
  }
}
