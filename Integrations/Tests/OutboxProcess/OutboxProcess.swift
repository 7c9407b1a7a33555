import Eventing
import EventingGRDB
import EventingTransport
import Foundation
import GRDB
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The process that kills itself at a step, for the tests of outbox and inbox.
///
///     outbox-process DATABASE JOURNAL ORDERS STEP COUNT [relay]
///
/// The process writes orders and their messages in the outbox, relays these messages to the
/// journal, and handles the messages of the journal. When it has reached STEP for the COUNT-th
/// time, the process kills itself with SIGKILL. Otherwise it ends with 0 when all orders are billed
/// and the outbox is empty. With `relay` the process only relays, until the outbox is empty.
@main struct OutboxProcess {
  static func main() async throws {
    let arguments = CommandLine.arguments
    guard arguments.count >= 6, let orderCount = Int(arguments[3]), let count = Int(arguments[5]) else { exit(64) }
    let death = Death(step: arguments[4], count: count)
    let database = try await open(arguments[1])
    let placed = RemoteEvent<Int>("orders.placed", over: try await JournalTransport(arguments[2]))
    let outbox = Outbox<Int>("orders", in: database) { death.note($0.rawValue) }
    guard arguments.last != "relay" else { return try await relay(outbox, to: placed, database) }
    let inbox = Inbox("billing", in: database) { death.note($0.rawValue) }
    placed.remoteOccurrences.addHandler { message in
      try await inbox.handle(message) { db in
        try db.execute(sql: "INSERT INTO bills (orderID) VALUES (?)", arguments: [message.payload])
      }
    }
    try await placed.listen(as: "billing", startingAt: .first, inFlight: 1)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await outbox.relay(to: placed, pollingEvery: .milliseconds(20)) }
      let first = try await database.read { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM orders") ?? 0 }
      for order in first..<orderCount {
        try await database.write { db in
          try db.execute(sql: "INSERT INTO orders (id) VALUES (?)", arguments: [order])
          try outbox.append(order, id: "order-\(order)", in: db)
          death.note("appended")
        }
        death.note("written")
      }
      while try await !database.read({ db in
        try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM bills") ?? 0 >= orderCount && outbox.pendingCount(in: db) == 0
      }) { try await Task.sleep(for: .milliseconds(5)) }
      group.cancelAll()
    }
  }

  /// Relays until the outbox is empty.
  private static func relay(
    _ outbox: Outbox<Int>, to placed: RemoteEvent<Int>, _ database: DatabasePool
  ) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await outbox.relay(to: placed, pollingEvery: .milliseconds(5)) }
      while try await database.read({ try outbox.pendingCount(in: $0) }) > 0 {
        try await Task.sleep(for: .milliseconds(5))
      }
      group.cancelAll()
    }
  }

  private static func open(_ path: String) async throws -> DatabasePool {
    var configuration = Configuration()
    configuration.busyMode = .timeout(60)
    let database = try DatabasePool(path: path, configuration: configuration)
    try await database.write { db in
      try EventingTables.create(in: db)
      try db.execute(sql: "CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY)")
      try db.execute(
        sql: "CREATE TABLE IF NOT EXISTS bills (number INTEGER PRIMARY KEY AUTOINCREMENT, orderID INTEGER)")
    }
    return database
  }
}

/// The step at which the process kills itself, once it has reached the step a given number of
/// times.
final class Death: Sendable {
  private let step: String
  private let left: Atomic<Int>

  init(step: String, count: Int) {
    self.step = step
    left = Atomic(count)
  }

  /// Notes that the process has reached a step. If this is the step given to the initializer, and
  /// the process has now reached it `count` times, kills the process at once.
  func note(_ found: String) {
    guard found == step, left.subtract(1, ordering: .relaxed).newValue == 0 else { return }
    kill(getpid(), SIGKILL)
  }
}
