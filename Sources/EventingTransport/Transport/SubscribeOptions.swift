public import Foundation

/// The options of a subscription of a ``Transport``.
public struct SubscribeOptions: Sendable {
  /// The durable group; `nil` for a subscription without one, which receives every message.
  public var group: String?
  /// The first message for a new group or for a subscription without a group. An existing group
  /// continues where it left off.
  public var start: StartPosition = .new
  /// The maximum number of messages whose handling has begun but that have no verdict yet. At least
  /// 1.
  public var inFlight = 256
  /// The dead-letter subject. A transport that stores messages refuses a subject that no stream
  /// stores.
  public var deadLetter: String?
  /// A closure that returns whether messages can be handled now.
  ///
  /// The engine calls the closure before it takes a message. If the result is false, the engine
  /// takes no message, so that other members receive the messages. After
  /// ``TransportSubscription/readinessChanged()``, it calls the closure again. Never call the
  /// closure under a mutex.
  public var isReady: @Sendable () -> Bool = { true }

  /// Creates options for a subscription without a group that begins with new messages.
  public init() {}
}

/// The message with which a listening or a new group begins.
public struct StartPosition: Hashable, Sendable {
  /// The ways to choose the message with which a listening or a new group begins. A ``Transport``
  /// uses this value to find the message.
  public enum Kind: Hashable, Sendable {
    case new
    case first
    case position(UInt64)
    case time(Date)
  }

  /// How this position chooses the message with which a listening or a new group begins.
  public let kind: Kind

  /// The position of the first message published after the listening or the group began.
  public static var new: StartPosition { StartPosition(kind: .new) }
  /// The position of the first stored message.
  public static var first: StartPosition { StartPosition(kind: .first) }
  /// Returns the position with the given number: see ``Receipt/position``.
  ///
  /// - Parameter number: The number, counted from 1. 0 also stands for the first message.
  public static func position(_ number: UInt64) -> StartPosition { StartPosition(kind: .position(max(1, number))) }
  /// Returns the position of the first message stored at the given time or later.
  public static func time(_ time: Date) -> StartPosition { StartPosition(kind: .time(time)) }
}
