public import Foundation

/// The options of a subscription of a ``Transport``.
public struct SubscribeOptions: Sendable {
  /// The durable group; `nil` for a subscription that receives each message itself.
  public var group: String?
  /// The first message of a new group, or of a subscription without one. A group that exists goes
  /// on where it is.
  public var start: StartPosition = .new
  /// The largest number of messages without a verdict, at least 1.
  public var inFlight = 256
  /// The dead-letter subject. A transport that stores messages refuses one that no stream stores.
  public var deadLetter: String?
  /// Returns whether messages can be handled now.
  ///
  /// The engine asks before it takes each message, and takes none while the result is false, so
  /// that other members get them. After ``TransportSubscription/readinessChanged()`` it asks again.
  /// Never call this under a mutex.
  public var isReady: @Sendable () -> Bool = { true }

  /// Creates options for a subscription without a group that begins with new messages.
  public init() {}
}

/// The message with which a listening begins.
public struct StartPosition: Hashable, Sendable {
  /// The kinds of positions, for a ``Transport``.
  public enum Kind: Hashable, Sendable {
    case new
    case first
    case position(UInt64)
    case time(Date)
  }

  /// The kind of this position.
  public let kind: Kind

  /// The messages that are published from now on.
  public static var new: StartPosition { StartPosition(kind: .new) }
  /// All messages that are stored.
  public static var first: StartPosition { StartPosition(kind: .first) }
  /// Returns the position of a message: see ``Receipt/position``.
  ///
  /// - Parameter number: The position. The first message has 1; 0 means the first one, too.
  public static func position(_ number: UInt64) -> StartPosition { StartPosition(kind: .position(max(1, number))) }
  /// Returns the position of the first message that was stored at a time or later.
  public static func time(_ time: Date) -> StartPosition { StartPosition(kind: .time(time)) }
}
