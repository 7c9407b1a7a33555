/// Positions begin with 1. A message is kept until every group has handled it, and longer while
/// it's among the newest.
struct MemoryLog {
  /// An object, because a message is large, and moves from one collection to the other.
  private final class Stored {
    let message: RemoteMessage
    let hash: UInt64
    /// Groups that have not handled the message.
    var needs: Int

    init(_ message: RemoteMessage, _ hash: UInt64, needs: Int) {
      (self.message, self.hash, self.needs) = (message, hash, needs)
    }
  }

  /// The newest messages that are kept even if every group has handled them.
  private let limit: UInt64
  /// A ring buffer of the newest messages, at most ``limit``.
  private var recent: [Stored] = []
  /// Older than all in ``recent``, and still to be handled by a group.
  private var older: [UInt64: Stored] = [:]
  /// By the hash of the id. If two ids have one hash, by a chance of 2⁻⁶⁴, a repetition of the
  /// first is not recognized.
  private var positions: [UInt64: UInt64] = [:]
  private(set) var end: UInt64 = 1

  init(keeping limit: Int) { self.limit = UInt64(limit) }

  var count: Int { recent.count + older.count }

  /// `nil` if the message was dropped, or not appended yet.
  subscript(position: UInt64) -> RemoteMessage? {
    stored(position)?.message
  }

  /// - Parameter hash: That of the id: ``stableHash(_:)``.
  func position(of id: String, _ hash: UInt64) -> UInt64? {
    guard let position = positions[hash], self[position]?.id.hasBytes(of: id) == true else { return nil }
    return position
  }

  mutating func append(_ message: RemoteMessage, _ hash: UInt64, needs: Int) -> UInt64 {
    let position = end
    end += 1
    var message = message
    (message.position, message.attempt) = (position, 1)
    var new = Stored(message, hash, needs: needs)
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

  private func stored(_ position: UInt64) -> Stored? {
    isRecent(position) ? recent[place(position)] : older[position]
  }

  func retain(_ position: UInt64) { stored(position)?.needs += 1 }

  /// One group less must handle the message. Without any, drops it, unless it is in ``recent``.
  mutating func release(_ position: UInt64) {
    guard let stored = stored(position) else { return }
    stored.needs -= 1
    guard stored.needs == 0, !isRecent(position) else { return }
    older[position] = nil
    keep(stored, position)
  }

  private func isRecent(_ position: UInt64) -> Bool {
    position > 0 && position < end && end - position <= UInt64(recent.count)
  }

  private func place(_ position: UInt64) -> Int { Int((position - 1) % limit) }

  /// The message is not in ``recent``, and is dropped if no group must still handle it.
  private mutating func keep(_ old: Stored, _ position: UInt64) {
    if old.needs > 0 {
      older[position] = old
    } else if positions[old.hash] == position {
      positions[old.hash] = nil
    }
  }

  /// O(*n* log *n*) for *n* stored messages, and O(1) for ``StartPosition/new``.
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
