import Eventing
import EventingGRDB
import EventingTransport
import Foundation
import GRDB
import Synchronization

/// A folder with a database that has orders, bills, an outbox and an inbox.
final class Store: Sendable {
  let folder: URL
  let database: DatabasePool

  init() throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "eventing-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    database = try Store.open(folder)
    try database.write { db in
      try EventingTables.create(in: db)
      try db.execute(sql: "CREATE TABLE orders (id INTEGER PRIMARY KEY)")
      try db.execute(sql: "CREATE TABLE bills (number INTEGER PRIMARY KEY AUTOINCREMENT, orderID INTEGER)")
    }
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  /// Opens the database a second time, as another process would.
  func opened() throws -> DatabasePool { try Store.open(folder) }

  private static func open(_ folder: URL) throws -> DatabasePool {
    var configuration = Configuration()
    configuration.busyMode = .timeout(60)
    return try DatabasePool(path: folder.appending(path: "shop.sqlite").path, configuration: configuration)
  }

  /// Writes an order to the database, and appends a message about it to the outbox, in one
  /// transaction.
  func place(_ order: Int, in outbox: Outbox<Int>) throws {
    try database.write { db in
      try db.execute(sql: "INSERT INTO orders (id) VALUES (?)", arguments: [order])
      try outbox.append(order, id: "order-\(order)", in: db)
    }
  }

  /// Writes a bill, which is the effect of handling an order.
  static func bill(_ order: Int, in db: Database) throws {
    try db.execute(sql: "INSERT INTO bills (orderID) VALUES (?)", arguments: [order])
  }

  /// The billed orders, in the order of their bills.
  var bills: [Int] {
    get throws { try database.read { try Int.fetchAll($0, sql: "SELECT orderID FROM bills ORDER BY number") } }
  }

  /// The number of orders.
  var orderCount: Int {
    get throws { try database.read { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM orders") ?? 0 } }
  }

  /// The number of messages that wait in the outbox "orders".
  var pendingCount: Int {
    get throws { try database.read { try Outbox<Int>("orders", in: database).pendingCount(in: $0) } }
  }
}

/// The error of a test that ends a relay or a handling at a step, as a crash would.
struct Crash: Error {}

/// Returns a closure that throws once: when it is called for `step` for the `count`-th time.
func crashing<Step: Equatable & Sendable>(_ step: Step, at count: Int) -> @Sendable (Step) throws -> Void {
  let left = CountDown(count)
  return { found in if found == step, left.isNow() { throw Crash() } }
}

/// A counter whose `isNow()` returns true once, when it reaches zero.
final class CountDown: Sendable {
  private let left: Atomic<Int>
  init(_ count: Int) { left = Atomic(count) }
  func isNow() -> Bool { left.subtract(1, ordering: .relaxed).newValue == 0 }
}

/// Polls until a condition holds. Returns whether it did within a minute.
func eventually(_ isTrue: () throws -> Bool) async throws -> Bool {
  let deadline = ContinuousClock.now.advanced(by: .seconds(60))
  while try !isTrue() {
    if ContinuousClock.now > deadline { return false }
    try await Task.sleep(for: .milliseconds(2))
  }
  return true
}

/// Runs a relay while a closure runs.
func relaying<Payload: Codable & Sendable, Result: Sendable>(
  _ outbox: Outbox<Payload>, to target: RemoteEvent<Payload>, _ body: @escaping @Sendable () async throws -> Result
) async throws -> Result {
  try await withThrowingTaskGroup(of: Void.self) { group in
    group.addTask {
      try await outbox.relay(
        to: target, pollingEvery: .milliseconds(10), retryingAfter: .milliseconds(1), upTo: .milliseconds(10))
    }
    let result = try await body()
    group.cancelAll()
    try await group.waitForAll()
    return result
  }
}
