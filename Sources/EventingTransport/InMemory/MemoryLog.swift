/// The messages of a stream in memory, by their positions. The first position is 1.
///
/// A message is kept while a group needs it, and while it is among the last ones.
struct MemoryLog: Sendable {
  private struct Stored: Sendable {
    var message: RemoteMessage
    /// The number of groups that have not handled it.
    var needs: Int
  }

  /// The number of the last messages that are kept in any case.
  private let limit: UInt64
  private var stored: [UInt64: Stored] = [:]
  /// The positions of the stored ids.
  private var positions: [String: UInt64] = [:]
  /// The position of the next message.
  private(set) var end: UInt64 = 1

  init(keeping limit: Int) { self.limit = UInt64(limit) }

  var count: Int { stored.count }

  /// The message at a position; `nil` if it was dropped, or is not there yet.
  subscript(position: UInt64) -> RemoteMessage? { stored[position]?.message }

  /// Returns the position of a stored id.
  func position(of id: String) -> UInt64? { positions[id] }

  /// Appends a message. Returns its position.
  ///
  /// - Parameter needs: The number of groups that must handle it.
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

  /// Notes that one more group needs a message.
  mutating func retain(_ position: UInt64) { stored[position]?.needs += 1 }

  /// Notes that a group needs a message no more.
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

  /// Returns the positions from which a listening begins, in their order. O(n log n), and O(1) for
  /// new messages.
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
