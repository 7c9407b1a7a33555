public import EventingTransport
public import Foundation
public import GRDB

/// Records which remote messages were handled, in the transaction of the handler's effects.
///
///     let inbox = Inbox("billing", in: database)
///     placed.remoteOccurrences.addHandler { message in
///       try await inbox.handle(message) { db in try Bill(for: message.payload).insert(db) }
///     }
///     try await placed.listen(as: "billing")
///
/// A stream delivers at least once. In one transaction, the inbox writes the source and the id of
/// the message, and the handler writes its effects. So the database has either both or neither. If
/// the message is delivered again, it is acknowledged and has no second effect. Only effects in
/// this database are covered. If the handler must send a message, let it append the message to an
/// ``Outbox`` in that transaction.
///
/// Several processes may share an inbox. Any thread may call any method.
public struct Inbox: Sendable {
  /// The name of the inbox in the database. Each handler with effects of its own needs an inbox of
  /// its own.
  public let name: String
  private let database: any DatabaseWriter
  private let afterStep: @Sendable (InboxStep) throws -> Void

  /// Creates an inbox. Its records are in the database, so several objects may represent one inbox.
  ///
  /// - Parameters:
  ///   - name: The name of the inbox in the database.
  ///   - database: The database with the tables of ``EventingTables/create(in:)``.
  public init(_ name: String, in database: any DatabaseWriter) {
    self.init(name, in: database) { _ in }
  }

  /// Creates an inbox that calls a closure after each step. If the closure throws, the handling
  /// ends.
  package init(
    _ name: String, in database: any DatabaseWriter, afterStep: @escaping @Sendable (InboxStep) throws -> Void
  ) {
    self.name = name
    self.database = database
    self.afterStep = afterStep
  }

  /// Handles a message, unless it was handled before.
  ///
  /// A source and an id identify a message: `ce-source` and `ce-id` if the message has these
  /// headers and `ce-specversion`, otherwise its subject and its id.
  /// A message whose publisher gave no id has one that names its stream and its place there, also
  /// if the stream was deleted and made again.
  ///
  /// - Parameters:
  ///   - message: The message.
  ///   - effects: A closure that writes the effects, inside the transaction, on the queue of the
  ///     database. If it throws, nothing is written.
  /// - Returns: Whether the effects were written now; `false` if the message was handled before.
  /// - Throws: The error of the closure or of the database. If the handler rethrows it, the message
  ///   is delivered again.
  /// - Complexity: O(log messages) beside the effects.
  @discardableResult public func handle<Payload: Sendable>(
    _ message: RemoteOccurrence<Payload>, _ effects: @escaping @Sendable (Database) throws -> Void
  ) async throws -> Bool {
    let (source, id) = Self.key(of: message)
    let isNew = try await database.write { [name, afterStep] db in
      try afterStep(.began)
      try db.execute(
        sql: "INSERT OR IGNORE INTO \(EventingTables.inbox) (inbox, source, id, handledAt) VALUES (?, ?, ?, ?)",
        arguments: [name, source, id, Date()])
      guard db.changesCount == 1 else { return false }
      try afterStep(.noted)
      try effects(db)
      try afterStep(.applied)
      return true
    }
    try afterStep(.committed)
    return isNew
  }

  /// Deletes the records of messages that were handled before a time, so that the table does not
  /// grow for ever.
  ///
  /// If such a message is delivered again, it is handled again. So keep records at least as long as
  /// the engine keeps messages, and at least as long as a message may wait in an outbox.
  ///
  /// - Parameters:
  ///   - time: The time before which records are deleted.
  ///   - db: A connection that may write.
  /// - Returns: The number of deleted records.
  /// - Throws: The error of the database.
  /// - Complexity: O(messages).
  @discardableResult public func forget(handledBefore time: Date, in db: Database) throws -> Int {
    try db.execute(
      sql: "DELETE FROM \(EventingTables.inbox) WHERE inbox = ? AND handledAt < ?", arguments: [name, time])
    return db.changesCount
  }

  private static func key<Payload>(of message: RemoteOccurrence<Payload>) -> (source: String, id: String) {
    guard message.headers["ce-specversion"] != nil, let source = message.headers["ce-source"],
      let id = message.headers["ce-id"]
    else { return (message.subject, message.id) }
    return (source, id)
  }
}
