public import Foundation

/// An error of an outbox. Its description names what was expected and what was found.
public struct OutboxError: Error, Sendable, CustomStringConvertible {
  /// The kind of an error. Later versions may add more.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    let name: String
    /// A message was appended outside a transaction.
    public static var noTransaction: Code { Code(name: "noTransaction") }
    /// A stored message cannot be decoded: its type has changed since it was appended.
    public static var notDecodable: Code { Code(name: "notDecodable") }
    /// The lock file that makes relays exclude each other cannot be opened or locked.
    public static var noLockFile: Code { Code(name: "noLockFile") }
    /// The name of the kind.
    public var description: String { name }
  }

  /// The kind of this error.
  public let code: Code
  /// A sentence that names what was expected and what was found.
  public let description: String

  init(_ code: Code, _ description: String) {
    self.code = code
    self.description = description
  }
}

extension OutboxError: LocalizedError {
  /// The description, so that `localizedDescription` returns it, too.
  public var errorDescription: String? { description }
}
