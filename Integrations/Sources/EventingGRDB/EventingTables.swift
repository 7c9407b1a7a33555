public import GRDB

/// The tables of outboxes and inboxes, which live beside the tables of the program.
public enum EventingTables {
  /// The table of messages that wait to be published.
  static let outbox = "eventing_outbox"
  /// The table of messages that were handled.
  static let inbox = "eventing_inbox"

  /// Creates the tables, unless they exist.
  ///
  /// Call this in a migration of the program, once, before the first outbox or inbox is used:
  ///
  ///     migrator.registerMigration("eventing") { db in try EventingTables.create(in: db) }
  ///
  /// - Parameter db: A connection that may write.
  /// - Throws: The error of the database.
  public static func create(in db: Database) throws {
    // AUTOINCREMENT: SQLite never reuses the position of a deleted message. SQLite has one writer
    // at a time, so the order of positions is the order of commits.
    try db.create(table: outbox, options: .ifNotExists) { table in
      table.autoIncrementedPrimaryKey("position")
      table.column("outbox", .text).notNull()
      table.column("id", .text).notNull()
      table.column("headers", .blob).notNull()
      table.column("payload", .blob).notNull()
      table.column("fault", .text)
    }
    try db.create(
      index: "eventing_outbox_pending", on: outbox, columns: ["outbox", "position"], options: .ifNotExists)
    try db.create(table: inbox, options: [.ifNotExists, .withoutRowID]) { table in
      table.column("inbox", .text).notNull()
      table.column("source", .text).notNull()
      table.column("id", .text).notNull()
      table.column("handledAt", .datetime).notNull()
      table.primaryKey(["inbox", "source", "id"])
    }
  }
}
