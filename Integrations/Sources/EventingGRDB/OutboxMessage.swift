import Foundation
import GRDB

/// A message that waits in an outbox.
struct OutboxMessage: Sendable {
  /// The position of the message among the messages of all outboxes in the database. The order is
  /// that of the transactions that appended them.
  let position: Int64
  let id: String
  /// The headers, as JSON.
  let headers: Data
  /// The payload, as JSON.
  let payload: Data

  init(row: Row) {
    position = row["position"]
    id = row["id"]
    headers = row["headers"]
    payload = row["payload"]
  }

  /// Returns the oldest message of an outbox, apart from messages that were set aside; `nil` if
  /// there is none.
  static func first(of outbox: String, in db: Database) throws -> OutboxMessage? {
    try Row.fetchOne(
      db,
      sql: """
        SELECT position, id, headers, payload FROM \(EventingTables.outbox)
        WHERE outbox = ? AND fault IS NULL ORDER BY position LIMIT 1
        """, arguments: [outbox]
    ).map(OutboxMessage.init)
  }

  /// Deletes the message after it was published.
  func delete(in db: Database) throws {
    try db.execute(sql: "DELETE FROM \(EventingTables.outbox) WHERE position = ?", arguments: [position])
  }

  /// Sets the message aside, with the reason.
  func setAside(_ fault: String, in db: Database) throws {
    try db.execute(
      sql: "UPDATE \(EventingTables.outbox) SET fault = ? WHERE position = ?", arguments: [fault, position])
  }
}
