/// The subjects that a message came through by forwards. A *step* is such a subject, with the
/// identity of its transport; the oldest has the number 1.
///
/// A message is not forwarded to a subject on its way, so a cycle ends (guarantee R7 of PROOF.md).
///
/// Two headers of bounded length carry the way. ``HeaderName/path`` lists the last steps. If that
/// header has no room for all steps, ``HeaderName/pathMarks`` has their number, and *step marks*:
/// the hashes of the steps 1, 2, 4, 8 and so on. So the headers stay short, however long the way
/// is.
///
/// The step marks end a cycle that is too long for ``HeaderName/path``. If a message takes *n*
/// steps before a cycle, its steps in the cycle have the numbers from *n* + 1 on. The first of
/// these numbers that is a power of two is at most 2*n* (or 1, if *n* is 0). The hash of the step
/// with this number is a step mark. One round later, the message would come to the subject of this
/// step again. The step mark shows the repetition, and the message is not forwarded.
struct RemoteWay: Sendable {
  /// The two headers, the subject and the transport of the received message; `nil` for a way
  /// without steps.
  private let last: (path: String?, marks: String?, subject: String, transport: String)?
  /// Set for a batch of messages that came along several ways.
  private var commonSteps: [Substring]?

  /// In bytes. The sender leaves out the oldest steps, and the receiver ignores a longer header.
  private static let longestHeader = 4_096
  /// The largest number of forwards of one message.
  static let longest = 1 << 20

  /// For a payload that no message brought into this process.
  init() { last = nil }

  /// The headers are decoded only if the message is forwarded.
  init(of message: RemoteMessage, over transport: String) {
    last = (message.headers[HeaderName.path], message.headers[HeaderName.pathMarks], message.subject, transport)
  }

  /// The steps of the path header, the oldest first, and that of the received message.
  private var steps: [Substring] {
    if let commonSteps { return commonSteps }
    guard let last else { return [] }
    var steps: [Substring] = []
    if let path = last.path, path.utf8.count <= RemoteWay.longestHeader { steps = path.split(separator: " ") }
    steps.append(Substring(RemoteWay.step(last.subject, last.transport)))
    return steps
  }

  /// Returns the steps that both ways have.
  func common(with other: RemoteWay) -> RemoteWay {
    let (own, others) = (steps, other.steps)
    if own == others, last?.marks == other.last?.marks { return self }
    var way = RemoteWay()
    way.commonSteps = own.filter { step in others.contains { $0.utf8.elementsEqual(step.utf8) } }
    return way
  }

  private func marks(_ steps: [Substring]) -> WayMarks {
    guard let step = steps.last else { return WayMarks() }
    // If the path header of the received message has no room for all steps, a second header has the
    // step marks, the hashes of some steps. Without a second header, the path header lists every
    // earlier step, and the step marks are computed from this list.
    var marks = last?.marks.flatMap(WayMarks.init) ?? WayMarks(steps.dropLast())
    marks.add(step)
    return marks
  }

  func contains(_ subject: String, over transport: String) -> Bool {
    let (steps, step) = (steps, Substring(RemoteWay.step(subject, transport)))
    return steps.contains { $0.utf8.elementsEqual(step.utf8) } || marks(steps).contains(step)
  }

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
    headers[HeaderName.path] = first == steps.count ? nil : steps[first...].joined(separator: " ")
    // If the path header now lists all steps, it alone shows each subject on the way. So no header
    // with *step marks*, the hashes of some steps, is needed.
    headers[HeaderName.pathMarks] = marks.count == steps.count - first ? nil : marks.text
  }

  private static func step(_ subject: String, _ transport: String) -> String {
    "\(SubjectWord.escaped(transport))|\(subject)"
  }
}

/// The number of steps, and the *step marks*: the hashes of the steps 1, 2, 4, 8 and so on.
private struct WayMarks {
  private(set) var count = 0
  private var marks: [UInt64] = []

  init() {}

  init(_ steps: some Sequence<Substring>) { for step in steps { add(step) } }

  /// `nil` for a text that is too long, or that ``text`` never has.
  init?(_ text: String) {
    guard text.utf8.count <= 1_024 else { return nil }
    let words = text.split(separator: " ")
    guard let count = words.first.flatMap({ Int($0) }), count > 0, count <= RemoteWay.longest else { return nil }
    marks = words.dropFirst().compactMap { UInt64($0, radix: 36) }
    guard marks.count == words.count - 1, marks.count == Int.bitWidth - count.leadingZeroBitCount else { return nil }
    self.count = count
  }

  /// The number of steps, and then the step marks.
  var text: String { (["\(count)"] + marks.map { String($0, radix: 36) }).joined(separator: " ") }

  func contains(_ step: Substring) -> Bool { marks.contains(stableHash(step)) }

  mutating func add(_ step: Substring) {
    count += 1
    if count & (count - 1) == 0 { marks.append(stableHash(step)) }
  }
}
