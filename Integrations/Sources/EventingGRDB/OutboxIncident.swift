/// A fault that a relay has met, and after which the relay continues. A relay is the task that
/// publishes the messages of an outbox.
///
/// An incident never contains the payload.
public struct OutboxIncident: Sendable {
  /// The kind of an incident. Later versions may add more.
  public struct Kind: Hashable, Sendable, CustomStringConvertible {
    let name: String
    /// A message could not be published, and will be retried after a delay.
    public static var retried: Kind { Kind(name: "retried") }
    /// A message cannot be published as it is, so it was set aside: see ``Outbox/setAside(in:)``.
    public static var setAside: Kind { Kind(name: "setAside") }
    /// The database was busy, and the operation will be retried after a delay.
    public static var databaseBusy: Kind { Kind(name: "databaseBusy") }
    /// The name of the kind.
    public var description: String { name }
  }

  /// The kind of the incident.
  public let kind: Kind
  /// The name of the outbox.
  public let outbox: String
  /// The id of the message; `nil` if the incident concerns the database.
  public let id: String?
  /// The number of failed attempts in a row; 0 for a message that cannot be decoded.
  public let attempts: Int
  /// The error.
  public let error: any Error
}

extension OutboxIncident: CustomStringConvertible {
  /// One line for a log.
  public var description: String {
    "outbox \(outbox): \(kind)\(id.map { " \($0)" } ?? ""), attempt \(attempts): \(error)"
  }
}
