/// The messages of a stream in memory, by their positions. The first position is 1.
///
/// The log keeps each message until every group has handled it. It keeps the newest messages even
/// longer.
struct MemoryLog: Sendable {
  private struct Stored: Sendable {
    var message: RemoteMessage
    /// The hash of the id.
    let hash: UInt64
    /// The number of groups that have not handled the message.
    var needs: Int
  }

  /// The number of the newest messages that the log keeps even if every group has handled them.
  private let limit: UInt64
  /// A ring buffer of the newest messages, at most ``limit``. ``place(_:)`` returns the index of
  /// the message at a position.
  private var recent: [Stored] = []
  /// The messages that are older than all in ``recent``. Each of them is still to be handled by at
  /// least one group.
  private var older: [UInt64: Stored] = [:]
  /// The position of each stored id, by the hash of the id. If two ids have one hash, by a chance
  /// of 2⁻⁶⁴, a repetition of the first is not recognized.
  private var positions: [UInt64: UInt64] = [:]
  /// The position of the next message.
  private(set) var end: UInt64 = 1

  init(keeping limit: Int) { self.limit = UInt64(limit) }

  var count: Int { recent.count + older.count }

  /// The message at a position; `nil` if it was dropped, or not appended yet.
  subscript(position: UInt64) -> RemoteMessage? {
    isRecent(position) ? recent[place(position)].message : older[position]?.message
  }

  /// Returns the position of the stored message with an id; `nil` if there is none.
  func position(of id: String) -> UInt64? {
    guard let position = positions[stableHash(id)], self[position]?.id.utf8.elementsEqual(id.utf8) == true
    else { return nil }
    return position
  }

  /// Appends a message.
  ///
  /// - Parameters:
  ///   - message: The message.
  ///   - needs: The number of groups that must handle the message.
  /// - Returns: The position of the message.
  mutating func append(_ message: RemoteMessage, needs: Int) -> UInt64 {
    let position = end
    end += 1
    let hash = stableHash(message.id)
    var new = Stored(message: message, hash: hash, needs: needs)
    new.message.position = position
    new.message.attempt = 1
    positions[hash] = position
    if recent.count < limit {
      recent.append(new)
    } else if limit == 0 {
      keep(new, position)
    } else {
      swap(&recent[place(position)], &new)
      keep(new, position - limit)
    }
    return position
  }

  /// Adds one to the number of groups that must handle a message.
  mutating func retain(_ position: UInt64) {
    if isRecent(position) { recent[place(position)].needs += 1 } else { older[position]?.needs += 1 }
  }

  /// Subtracts one from the number of groups that must handle a message. If no group is left, drops
  /// the message, unless it is one of the newest messages in ``recent``.
  mutating func release(_ position: UInt64) {
    if isRecent(position) { return recent[place(position)].needs -= 1 }
    guard var old = older.removeValue(forKey: position) else { return }
    old.needs -= 1
    keep(old, position)
  }

  private func isRecent(_ position: UInt64) -> Bool {
    position > 0 && position < end && end - position <= UInt64(recent.count)
  }

  /// The index of a position in the ring.
  private func place(_ position: UInt64) -> Int { Int((position - 1) % limit) }

  /// Keeps a message that is not in ``recent`` if some group must still handle it. Otherwise drops
  /// it.
  private mutating func keep(_ old: Stored, _ position: UInt64) {
    if old.needs > 0 {
      older[position] = old
    } else if positions[old.hash] == position {
      positions[old.hash] = nil
    }
  }

  /// Returns the positions of the stored messages that a new group or listening receives, in order.
  /// O(*n* log *n*) for *n* stored messages, and O(1) if `start` is ``StartPosition/new``.
  func positions(from start: StartPosition, _ filter: SubjectFilter) -> [UInt64] {
    if case .new = start.kind { return [] }
    let all = older.keys.sorted() + ((end - UInt64(recent.count))..<end)
    let first: UInt64
    switch start.kind {
    case .new, .first: first = 1
    case .position(let number): first = number
    case .time(let time): first = all.first { self[$0].map { $0.publishedAt >= time } ?? false } ?? end
    }
    return all.filter { $0 >= first && filter.matches(self[$0]?.subject ?? "") }
  }
}
