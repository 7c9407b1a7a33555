import Eventing
import Foundation

/// Shows in an inspector what each ``BacklogMonitor`` of this process read last.
final class BacklogTable: InspectedTable {
  struct Reading: Sendable {
    let subject: String
    let group: String
    var backlog: Backlog?
    var trouble = ""
  }

  private struct State: Sendable {
    var last: UInt64 = 0
    var readings: [UInt64: Reading] = [:]
  }

  static let shared = {
    let table = BacklogTable()
    InspectedTables.add(table)
    return table
  }()

  let title = "Backlogs"
  let columns = ["Subject", "Group", "Waiting", "In hand", "Redelivered", "Oldest stored", "Trouble"]
  let actions: [String] = []
  private let state = Guarded(State())

  /// Returns the number of the new row.
  func add(_ reading: Reading) -> UInt64 {
    state.withLock { state in
      state.last += 1
      state.readings[state.last] = reading
      return state.last
    }
  }

  /// Has no effect after ``remove(_:)``, because a monitor may be released while it reads. A reading
  /// that failed has no backlog, and leaves the last one.
  func show(_ backlog: Backlog?, trouble: String, as row: UInt64) {
    state.withLock { state in
      if let backlog { state.readings[row]?.backlog = backlog }
      state.readings[row]?.trouble = trouble
    }
  }

  func remove(_ row: UInt64) { state.withLock { $0.readings[row] = nil } }

  func rows(upTo limit: Int) -> (first: [InspectedRow], count: Int, latest: UInt64) {
    let readings = state.withLock { $0.readings.sorted { $0.key < $1.key } }
    let rows = readings.prefix(limit).map { number, reading in
      let counts = reading.backlog.map { [$0.waiting, $0.inHand, $0.redelivered].map(String.init) } ?? ["", "", ""]
      let oldest = reading.backlog?.oldest?.formatted(.iso8601) ?? ""
      return InspectedRow(
        id: number, isBad: !reading.trouble.isEmpty,
        [reading.subject, reading.group] + counts + [oldest, reading.trouble])
    }
    return (rows, readings.count, readings.last?.key ?? 0)
  }

  func perform(_ action: String, on rows: Set<UInt64>, upTo latest: UInt64) async throws -> Int { 0 }
}
