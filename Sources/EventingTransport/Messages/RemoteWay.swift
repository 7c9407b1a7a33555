/// The subjects that a message came through by forwards, with the identities of their transports.
///
/// A message is not forwarded to a subject that it came through (R7). The way travels in headers of
/// a bounded length. One has the last steps. The other has a mark for each step whose number is a
/// power of two, for the steps that the first one has no room for. A circle has such a step,
/// however long it is, and a message that comes back there ends. Until then it may have gone round
/// the rest of a long circle twice.
struct RemoteWay: Sendable {
  /// The message that came last, and its transport; `nil` for a message that was published by hand.
  private let last: (path: String?, marks: String?, subject: String, transport: String)?

  /// The longest header that is read or written, in bytes. A longer one is cut off at its old end.
  private static let longestHeader = 4_096
  /// The largest number of steps. A way without a circle has as many subjects.
  static let longest = 1 << 20

  /// The way of a message that was published by hand.
  init() { last = nil }

  /// The way of a message that comes, with the subject on which it came. Read only if the message
  /// is forwarded.
  init(of message: RemoteMessage, over transport: String) {
    last = (message.headers[Header.path], message.headers[Header.pathMarks], message.subject, transport)
  }

  /// The last steps, the oldest first. A step has no spaces.
  private var steps: [Substring] {
    guard let last else { return [] }
    var steps: [Substring] = []
    if let path = last.path, path.utf8.count <= RemoteWay.longestHeader { steps = path.split(separator: " ") }
    steps.append(Substring(RemoteWay.step(last.subject, last.transport)))
    return steps
  }

  /// Returns the number of all steps, and the marks.
  ///
  /// - Parameter steps: The last steps.
  private func marks(_ steps: [Substring]) -> WayMarks {
    guard let step = steps.last else { return WayMarks() }
    // Without marks, the other header has every step.
    var marks = last?.marks.flatMap(WayMarks.init) ?? WayMarks(steps.dropLast())
    marks.add(step)
    return marks
  }

  /// Returns whether the way leads through a subject of a transport.
  func contains(_ subject: String, over transport: String) -> Bool {
    let (steps, step) = (steps, Substring(RemoteWay.step(subject, transport)))
    return steps.contains(step) || marks(steps).contains(step)
  }

  /// Writes the headers of a message that goes on along this way.
  ///
  /// - Throws: ``TransportError`` if the way has too many steps.
  func write(to headers: inout [String: String]) throws {
    let steps = steps
    guard !steps.isEmpty else { return }
    let marks = marks(steps)
    guard marks.count <= RemoteWay.longest else {
      throw TransportError(
        .refused,
        "expected a message that was forwarded at most \(RemoteWay.longest) times; this one was forwarded more often")
    }
    var first = 0
    var length = steps.reduce(-1) { $0 + $1.utf8.count + 1 }
    while length > RemoteWay.longestHeader, first < steps.count {
      length -= steps[first].utf8.count + 1
      first += 1
    }
    headers[Header.path] = first == steps.count ? nil : steps[first...].joined(separator: " ")
    // Short ways need no marks.
    headers[Header.pathMarks] = marks.count == steps.count - first ? nil : marks.text
  }

  private static func step(_ subject: String, _ transport: String) -> String {
    "\(SubjectWord.escaped(transport))|\(subject)"
  }
}

/// The number of the steps of a way, and the hashes of those whose number is a power of two.
private struct WayMarks {
  private(set) var count = 0
  private var marks: [UInt64] = []

  init() {}

  init(_ steps: some Sequence<Substring>) { for step in steps { add(step) } }

  /// Reads a header; `nil` if ``text`` makes no such header.
  init?(_ text: String) {
    guard text.utf8.count <= 1_024 else { return nil }
    let words = text.split(separator: " ")
    guard let count = words.first.flatMap({ Int($0) }), count > 0, count <= RemoteWay.longest else { return nil }
    marks = words.dropFirst().compactMap { UInt64($0, radix: 36) }
    guard marks.count == words.count - 1, marks.count == Int.bitWidth - count.leadingZeroBitCount else { return nil }
    self.count = count
  }

  /// The header: the number, and the marks, the oldest first.
  var text: String { (["\(count)"] + marks.map { String($0, radix: 36) }).joined(separator: " ") }

  func contains(_ step: Substring) -> Bool { marks.contains(stableHash(step)) }

  mutating func add(_ step: Substring) {
    count += 1
    if count & (count - 1) == 0 { marks.append(stableHash(step)) }
  }
}
