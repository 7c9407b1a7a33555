public import EventingTransport
public import Foundation
public import GRDB

/// Remembers which remote messages were handled, in the transaction of the handler's effects.
///
///     let inbox = Inbox("billing", in: database)
///     placed.remoteOccurrences.addHandler { message in
///       try await inbox.handle(message) { db in try Bill(for: message.payload).insert(db) }
///     }
///     try await placed.listen(as: "billing")
///
/// A stream delivers at least once. The inbox writes the source and the id of the message in the
/// transaction that writes the effects, so either both are there or neither. A message that comes
/// again is acknowledged, and has no second effect. Only effects in this database are covered: for
/// a message that the handler sends on, append it to an ``Outbox`` in that transaction.
///
/// Several processes may share an inbox. All methods may be called from any thread.
public struct Inbox: Sendable {
  /// The name of the inbox in the database. Handlers with effects of their own have inboxes of
  /// their own.
  public let name: String
  private let database: any DatabaseWriter
  private let afterStep: @Sendable (InboxStep) throws -> Void

  /// Creates an inbox. What it remembers is in the database.
  ///
  /// - Parameters:
  ///   - name: The name of the inbox in the database.
  ///   - database: The database with the tables of ``EventingTables/create(in:)``.
  public init(_ name: String, in database: any DatabaseWriter) {
    self.init(name, in: database) { _ in }
  }

  /// Creates an inbox that calls a closure after each step. An error of it ends the handling.
  package init(
    _ name: String, in database: any DatabaseWriter, afterStep: @escaping @Sendable (InboxStep) throws -> Void
  ) {
    self.name = name
    self.database = database
    self.afterStep = afterStep
  }

  /// Handles a message, unless it was handled before.
  ///
  /// A message is known by its source and its id. The source is the CloudEvents attribute if the
  /// message has `ce-source` and `ce-id`, and otherwise its subject.
  ///
  /// - Parameters:
  ///   - message: The message.
  ///   - effects: A closure that writes the effects, inside the transaction, on the queue of the
  ///     database. If it throws, nothing is written.
  /// - Returns: Whether the effects were written now; `false` if the message was handled before.
  /// - Throws: The error of the closure or of the database. Thrown on by the handler, it makes the
  ///   message come again.
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

  /// Forgets the messages that were handled before a time, so that the table does not grow forever.
  ///
  /// A message that comes again after that is handled again. Choose a time that is longer ago than
  /// the engine keeps messages, or the longest time for which an outbox waited.
  ///
  /// - Parameters:
  ///   - time: The time.
  ///   - db: A connection that may write.
  /// - Returns: The number of messages.
  /// - Throws: The error of the database.
  /// - Complexity: O(messages).
  @discardableResult public func forget(handledBefore time: Date, in db: Database) throws -> Int {
    try db.execute(
      sql: "DELETE FROM \(EventingTables.inbox) WHERE inbox = ? AND handledAt < ?", arguments: [name, time])
    return db.changesCount
  }

  private static func key<Payload>(of message: RemoteOccurrence<Payload>) -> (source: String, id: String) {
    if let source = message.headers["ce-source"], let id = message.headers["ce-id"] { return (source, id) }
    return (message.subject, message.id)
  }
}
