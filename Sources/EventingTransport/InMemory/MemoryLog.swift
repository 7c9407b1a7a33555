/// The messages of a stream in memory, by their positions. The first position is 1.
struct MemoryLog: Sendable {
  /// The messages from `head` on. Those before it were dropped, and are `nil`.
  private var messages: [RemoteMessage?] = []
  private var head = 0
  /// The number of messages that were dropped.
  private var dropped: UInt64 = 0
  /// The positions of the stored ids.
  private var positions: [String: UInt64] = [:]

  /// The position of the next message.
  var end: UInt64 { dropped + UInt64(count) + 1 }
  /// The position of the first message that is still there.
  var start: UInt64 { dropped + 1 }
  var count: Int { messages.count - head }

  /// The message at a position; `nil` if it was dropped, or is not there yet.
  subscript(position: UInt64) -> RemoteMessage? {
    position >= start && position < end ? messages[head + Int(position - start)] : nil
  }

  /// Returns the position of a stored id.
  func position(of id: String) -> UInt64? { positions[id] }

  /// Appends a message. Returns its position.
  mutating func append(_ message: RemoteMessage) -> UInt64 {
    var message = message
    let position = end
    message.position = position
    message.attempt = 1
    messages.append(message)
    positions[message.id] = position
    return position
  }

  /// Drops messages, so that `limit` are left, but none at `needed` or later.
  mutating func trim(to limit: Int, before needed: UInt64) {
    let surplus = min(count - limit, Int(min(needed, end)) - Int(start))
    guard surplus > 0 else { return }
    for index in head..<head + surplus {
      if let id = messages[index]?.id { positions[id] = nil }
      messages[index] = nil
    }
    head += surplus
    dropped += UInt64(surplus)
    // Amortized: as many messages are moved as were dropped.
    if head > messages.count / 2 {
      messages.removeFirst(head)
      head = 0
    }
  }

  /// Returns the first position of a listening.
  func position(of start: StartPosition) -> UInt64 {
    switch start.kind {
    case .new: end
    case .first: self.start
    case .position(let number): max(number, self.start)
    case .time(let time):
      messages[head...].firstIndex { $0.map { $0.publishedAt >= time } ?? false }
        .map { self.start + UInt64($0 - head) } ?? end
    }
  }
}

/// A subject with wildcards: `*` stands for one word, and a last `>` for one or more words.
struct SubjectFilter: Hashable, Sendable {
  let text: String
  private let words: [Substring]
  private let isPlain: Bool

  init(_ text: String) {
    self.text = text
    words = text.split(separator: ".")
    isPlain = !text.utf8.contains(UInt8(ascii: "*")) && !text.utf8.contains(UInt8(ascii: ">"))
  }

  func matches(_ subject: String) -> Bool {
    if isPlain { return text == subject }
    let found = subject.split(separator: ".")
    for (index, word) in words.enumerated() {
      if word == ">" { return found.count > index }
      guard index < found.count, word == "*" || word == found[index] else { return false }
    }
    return words.count == found.count
  }
}

/// A generator of random numbers from a seed (SplitMix64).
struct SeededGenerator: RandomNumberGenerator, Sendable {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  /// Returns true with a probability.
  mutating func chance(_ probability: Double) -> Bool {
    probability > 0 && Double.random(in: 0..<1, using: &self) < probability
  }
}
