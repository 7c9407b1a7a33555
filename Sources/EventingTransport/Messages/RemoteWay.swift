/// The subjects that a message came through by forwards, with the identities of their transports.
///
/// A message is not forwarded to a subject that it came through (R7). The way travels in a header.
struct RemoteWay: Sendable {
  /// The message that came last, and its transport; `nil` for a message that was published by hand.
  private let last: (header: String?, subject: String, transport: String)?

  /// The longest header that is read or written, in bytes. A longer one is cut off at its old end.
  private static let longestHeader = 4_096

  /// The way of a message that was published by hand.
  init() { last = nil }

  /// The way of a message that comes, with the subject on which it came. Read only if the message
  /// is forwarded.
  init(of message: RemoteMessage, over transport: String) {
    last = (message.headers[Header.path], message.subject, transport)
  }

  /// The steps, the oldest first. A step has no spaces.
  private var steps: [Substring] {
    guard let last else { return [] }
    var steps: [Substring] = []
    if let header = last.header, header.utf8.count <= RemoteWay.longestHeader { steps = header.split(separator: " ") }
    steps.append(Substring(RemoteWay.step(last.subject, last.transport)))
    return steps
  }

  /// Returns whether the way leads through a subject of a transport.
  func contains(_ subject: String, over transport: String) -> Bool {
    steps.contains(Substring(RemoteWay.step(subject, transport)))
  }

  /// The text of the header; `nil` for an empty way.
  var header: String? {
    let steps = steps
    var first = 0
    var length = steps.reduce(-1) { $0 + $1.utf8.count + 1 }
    while length > RemoteWay.longestHeader, first < steps.count {
      length -= steps[first].utf8.count + 1
      first += 1
    }
    return first == steps.count ? nil : steps[first...].joined(separator: " ")
  }

  private static func step(_ subject: String, _ transport: String) -> String {
    "\(SubjectWord.escaped(transport))|\(subject)"
  }
}

/// Texts as single words of a subject.
enum SubjectWord {
  /// Returns a text as letters, digits, `-`, `_` and `%` with two digits for each other byte. An
  /// empty text is `%`.
  static func escaped(_ text: String) -> String {
    if text.isEmpty { return "%" }
    if text.utf8.allSatisfy(isPlain) { return text }
    var word = ""
    for byte in text.utf8 {
      if isPlain(byte) {
        word.unicodeScalars.append(Unicode.Scalar(byte))
      } else {
        word += (byte < 16 ? "%0" : "%") + String(byte, radix: 16)
      }
    }
    return word
  }

  /// Returns the text of a word; `nil` if ``escaped(_:)`` makes no such word.
  static func unescaped(_ word: Substring) -> String? {
    if word == "%" { return "" }
    if word.utf8.allSatisfy(isPlain) { return String(word) }
    var bytes: [UInt8] = []
    var rest = word.utf8
    while let byte = rest.popFirst() {
      if isPlain(byte) {
        bytes.append(byte)
      } else if byte == UInt8(ascii: "%"), rest.count >= 2, let value = UInt8(Substring(rest.prefix(2)), radix: 16) {
        bytes.append(value)
        rest = rest.dropFirst(2)
      } else {
        return nil
      }
    }
    return String(validating: bytes, as: UTF8.self)
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte) || byte == 45 || byte == 95
  }
}
