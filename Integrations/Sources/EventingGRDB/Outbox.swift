public import Eventing
import Foundation
public import GRDB

/// Stores messages in the transaction of the data that they describe, and publishes them later.
///
///     let outbox = Outbox<OrderPlaced>("orders", in: database)
///     try await database.write { db in
///       try order.insert(db)
///       try outbox.append(OrderPlaced(id: order.id), in: db)   // both, or neither
///     }
///     try await outbox.relay(to: placed)   // in a task of its own, until that is cancelled
///
/// **At least once.** A message is deleted after the engine has acknowledged it. If the process
/// ends between the two, the message is published again with its id. Within its window for
/// duplicates, a stream stores an id once. An ``Inbox`` handles a message once for as long as the
/// inbox keeps the record of the message.
///
/// **Order.** Messages of one outbox are published in the order of their transactions, one at a
/// time. A message holds up the next ones until it is published or set aside.
///
/// **Concurrency.** Any thread may call any method. Several processes may use one outbox of one
/// database file, and each may run a relay: one of them publishes, the others wait. See
/// ``relay(to:pollingEvery:retryingAfter:upTo:clock:)``.
public final class Outbox<Payload: Codable & Sendable>: Sendable {
  /// The name of the outbox in the database.
  public let name: String
  let database: any DatabaseWriter
  let incidentEvent = Event<OutboxIncident>("outbox incidents")
  /// A closure that a relay calls after each of its steps. A test throws in the closure to end the
  /// relay.
  let afterStep: @Sendable (RelayStep) throws -> Void

  /// Creates an outbox. Its messages are in the database, so several objects may represent one
  /// outbox.
  ///
  /// - Parameters:
  ///   - name: The name of the outbox in the database.
  ///   - database: The database with the tables of ``EventingTables/create(in:)``.
  public convenience init(_ name: String, in database: any DatabaseWriter) {
    self.init(name, in: database) { _ in }
  }

  /// Creates an outbox whose relay calls a closure after each step. If the closure throws, the
  /// relay ends.
  package init(
    _ name: String, in database: any DatabaseWriter, afterStep: @escaping @Sendable (RelayStep) throws -> Void
  ) {
    self.name = name
    self.database = database
    self.afterStep = afterStep
  }

  /// A source of the incidents of the relay, which is the task that publishes the messages of the
  /// outbox. An incident is a fault after which the relay continues, such as an unreachable broker.
  ///
  /// Inline handlers run on the task of the relay.
  public var incidents: some EventSource<OutboxIncident> { incidentEvent.source }

  /// Appends a message in the transaction that writes the data.
  ///
  /// If the transaction is rolled back, the message is not stored.
  ///
  /// - Parameters:
  ///   - payload: The payload. It is stored as JSON, and encoded again by the remote event's codec.
  ///   - id: The id of the message; `nil` for a new one.
  ///   - headers: The headers for the receivers: see `RemoteEvent.publish`.
  ///   - db: The connection, inside the transaction.
  /// - Returns: The id.
  /// - Throws: ``OutboxError`` outside a transaction, and the errors of the encoder and of the
  ///   database.
  /// - Complexity: O(size of the payload).
  @discardableResult public func append(
    _ payload: Payload, id: String? = nil, headers: [String: String] = [:], in db: Database
  ) throws -> String {
    guard db.isInsideTransaction else {
      throw OutboxError(
        .noTransaction, "expected a transaction with the data for an event of the outbox \(name); there is none")
    }
    let id = id ?? UUID().uuidString
    try db.execute(
      sql: "INSERT INTO \(EventingTables.outbox) (outbox, id, headers, payload) VALUES (?, ?, ?, ?)",
      arguments: [name, id, try JSONEncoder().encode(headers), try JSONEncoder().encode(payload)])
    return id
  }

  /// Returns the number of messages that wait to be published. Messages that were set aside do not
  /// count.
  ///
  /// - Throws: The error of the database.
  /// - Complexity: O(messages).
  public func pendingCount(in db: Database) throws -> Int {
    try Int.fetchOne(
      db, sql: "SELECT COUNT(*) FROM \(EventingTables.outbox) WHERE outbox = ? AND fault IS NULL", arguments: [name])
      ?? 0
  }

  /// Returns the ids of the messages that were set aside, with the reasons, in order.
  ///
  /// The relay sets a message aside if its payload cannot be decoded or encoded, if the message is
  /// too large, or if its id or a header cannot be sent. The message stays in the database.
  ///
  /// - Throws: The error of the database.
  /// - Complexity: O(messages).
  public func setAside(in db: Database) throws -> [(id: String, reason: String)] {
    try Row.fetchAll(
      db,
      sql: "SELECT id, fault FROM \(EventingTables.outbox) WHERE outbox = ? AND fault IS NOT NULL ORDER BY position",
      arguments: [name]
    ).map { (id: $0["id"], reason: $0["fault"]) }
  }

  /// Makes the relay retry the messages that were set aside, for example after an update of the
  /// program.
  ///
  /// Each of them is published before all messages that were appended after it and still wait.
  ///
  /// - Returns: The number of messages.
  /// - Throws: The error of the database.
  /// - Complexity: O(messages).
  @discardableResult public func retrySetAside(in db: Database) throws -> Int {
    try db.execute(
      sql: "UPDATE \(EventingTables.outbox) SET fault = NULL WHERE outbox = ? AND fault IS NOT NULL",
      arguments: [name])
    return db.changesCount
  }
}
