/// The answer of an engine that took a message.
public struct Receipt: Hashable, Sendable {
  /// The place of the message in its stream; `nil` if the engine stores nothing. The first is 1.
  public let position: UInt64?
  /// Whether a message with this id was stored before. The position is that of the first one.
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
