/// An engine's confirmation that it accepted a message.
public struct Receipt: Hashable, Sendable {
  /// The position of the message in its stream, counted from 1; `nil` if the engine stores nothing.
  public let position: UInt64?
  /// Whether a message with this id was stored before. If so, the position is that of the earlier
  /// message.
  public let isDuplicate: Bool

  /// Creates a receipt.
  public init(position: UInt64? = nil, isDuplicate: Bool = false) {
    self.position = position
    self.isDuplicate = isDuplicate
  }
}

extension Receipt: CustomStringConvertible {
  /// One line for a log.
  public var description: String {
    "\(position.map { "stored at \($0)" } ?? "handed over")\(isDuplicate ? ", a duplicate" : "")"
  }
}
