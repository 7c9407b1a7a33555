public import Foundation

/// The messages that a group hasn't handled yet.
///
///     let backlog = try await placed.backlog(of: "billing")
///     print(backlog.waiting, backlog.oldest?.timeIntervalSinceNow ?? 0)
public struct Backlog: Hashable, Sendable {
  /// The number of messages that no member of the group has received.
  public var waiting: Int
  /// The number of messages that members have received but that have no final verdict yet. A
  /// message that is waiting for its next attempt counts, too.
  public var inHand: Int
  /// The number of messages among ``inHand`` that failed or were given back at least once.
  public var redelivered: Int
  /// The time at which the oldest unhandled message was stored; `nil` if there is none.
  public var oldest: Date?

  /// Creates a backlog, for authors of engines and for tests.
  public init(waiting: Int, inHand: Int, redelivered: Int = 0, oldest: Date? = nil) {
    (self.waiting, self.inHand, self.redelivered, self.oldest) = (waiting, inHand, redelivered, oldest)
  }
}

extension Backlog: CustomStringConvertible {
  /// One line for a log.
  public var description: String {
    let age = oldest.map { ", the oldest since \($0.formatted(.iso8601))" } ?? ""
    return "\(waiting) waiting, \(inHand) in hand, \(redelivered) redelivered\(age)"
  }
}
