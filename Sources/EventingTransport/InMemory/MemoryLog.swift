/// The messages of a stream in memory, by their positions. The first position is 1.
///
/// A message is kept as long as a group has not handled it. The last messages are always kept.
struct MemoryLog: Sendable {
  private struct Stored: Sendable {
    var message: RemoteMessage
    /// The number of groups that have not handled the message.
    var needs: Int
  }

  /// The number of the last messages that are always kept.
  private let limit: UInt64
  private var stored: [UInt64: Stored] = [:]
  /// The position of each stored id.
  private var positions: [String: UInt64] = [:]
  /// The position of the next message.
  private(set) var end: UInt64 = 1

  init(keeping limit: Int) { self.limit = UInt64(limit) }

  var count: Int { stored.count }

  /// The message at a position; `nil` if it was dropped, or not appended yet.
  subscript(position: UInt64) -> RemoteMessage? { stored[position]?.message }

  /// Returns the position of a stored id.
  func position(of id: String) -> UInt64? { positions[id] }

  /// Appends a message.
  ///
  /// - Parameters:
  ///   - message: The message.
  ///   - needs: The number of groups that must handle the message.
  /// - Returns: The position of the message.
  mutating func append(_ message: RemoteMessage, needs: Int) -> UInt64 {
    let position = end
    end += 1
    var message = message
    message.position = position
    message.attempt = 1
    stored[position] = Stored(message: message, needs: needs)
    positions[message.id] = position
    if position > limit { drop(position - limit) }
    return position
  }

  /// Counts one more group that must handle a message.
  mutating func retain(_ position: UInt64) { stored[position]?.needs += 1 }

  /// Counts one group fewer that must handle a message.
  mutating func release(_ position: UInt64) {
    stored[position]?.needs -= 1
    if position + limit < end { drop(position) }
  }

  /// Drops a message that no group needs.
  private mutating func drop(_ position: UInt64) {
    guard let old = stored[position], old.needs == 0 else { return }
    stored[position] = nil
    if positions[old.message.id] == position { positions[old.message.id] = nil }
  }

  /// Returns the positions of the messages with which a listening begins, in order. O(*n* log *n*)
  /// for *n* stored messages, and O(1) if the listening begins with new messages.
  func positions(from start: StartPosition, _ filter: SubjectFilter) -> [UInt64] {
    let first: UInt64
    switch start.kind {
    case .new: return []
    case .first: first = 1
    case .position(let number): first = number
    case .time(let time): first = stored.filter { $1.message.publishedAt >= time }.keys.min() ?? end
    }
    return stored.filter { $0 >= first && filter.matches($1.message.subject) }.keys.sorted()
  }
}
