/// A group of a stream in memory, or a subscription without a group.
struct MemoryGroup: Sendable {
  /// One delivery of one message. A message that is given back, and delivered again, has another
  /// number.
  struct Pending: Sendable {
    let delivery: UInt64
    let member: UInt64
  }

  let id: UInt64
  /// `nil` for a subscription without a group.
  let name: String?
  let filter: SubjectFilter
  /// The next position to look at.
  var cursor: UInt64
  /// The positions of messages that come again, in their order.
  private(set) var again: [UInt64] = []
  /// The numbers of failed attempts.
  var failures: [UInt64: Int] = [:]
  /// The messages without a verdict.
  var pending: [UInt64: Pending] = [:]
  /// The messages that a fault repeats, each once.
  var repeated: Set<UInt64> = []
  /// The messages that come again after a delay.
  var delayed: Set<UInt64> = []
  var members: [UInt64] = []
  /// The index of the member that is woken next.
  var turn = 0

  init(_ id: UInt64, _ name: String?, _ filter: SubjectFilter, _ cursor: UInt64) {
    self.id = id
    self.name = name
    self.filter = filter
    self.cursor = cursor
  }

  /// The first position that the group may still need.
  var needed: UInt64 { min(cursor, again.first ?? .max, pending.keys.min() ?? .max, delayed.min() ?? .max) }

  /// Returns the position of the next message, and takes it out; `nil` if there is none.
  mutating func next(in log: MemoryLog) -> UInt64? {
    while !again.isEmpty {
      let position = again.removeFirst()
      if log[position] != nil { return position }
    }
    cursor = max(cursor, log.start)
    while let message = log[cursor] {
      cursor += 1
      if filter.matches(message.subject) { return cursor - 1 }
    }
    return nil
  }

  /// Whether a message may wait.
  func hasWork(in log: MemoryLog) -> Bool { !again.isEmpty || cursor < log.end }

  /// Lets a message come again, in its place.
  mutating func giveBack(_ position: UInt64) {
    let index = again.firstIndex { $0 >= position } ?? again.endIndex
    if index == again.endIndex || again[index] != position { again.insert(position, at: index) }
  }

  /// Gives back the messages without a verdict: all of them, or those of one member.
  mutating func giveBackPending(of member: UInt64? = nil) {
    for (position, delivery) in pending where member == nil || delivery.member == member {
      pending[position] = nil
      giveBack(position)
    }
  }
}
