/// A line of the log, as it was read.
struct LogLine: Sendable {
  let number: Int
  let text: String
}

/// A parsed line: its first word and its length.
struct ParsedLine: Sendable {
  let number: Int
  let firstWord: Substring
  let length: Int

  /// Parses a line. The word is cut off after 40 characters.
  ///
  /// - Throws: `Blank` if the line has no word.
  init(_ line: LogLine) throws {
    let word = line.text.drop { $0 == " " }.prefix(40).prefix { $0 != " " }
    if word.allSatisfy(\.isWhitespace) { throw Blank(number: line.number) }
    number = line.number
    firstWord = word
    length = line.text.utf8.count
  }

  struct Blank: Error, Sendable {
    let number: Int
  }
}

/// The classes of lines, by their first word.
enum LineClass: Int, CaseIterable, Sendable {
  case word, number, label, other

  init(_ line: ParsedLine) {
    guard let first = line.firstWord.first else {
      self = .other
      return
    }
    if line.firstWord.hasSuffix(":") {
      self = .label
    } else if first.isNumber {
      self = .number
    } else {
      self = first.isLetter ? .word : .other
    }
  }
}

struct ClassifiedLine: Sendable {
  let line: ParsedLine
  let kind: LineClass
}

/// A checksum that depends on the order of its input.
struct Digest: Sendable, Equatable {
  private(set) var value: UInt64 = 14_695_981_039_346_656_037

  mutating func add(_ number: Int) { value = (value ^ UInt64(truncatingIfNeeded: number)) &* 1_099_511_628_211 }

  mutating func add(_ classified: ClassifiedLine) {
    add(classified.line.number)
    add(classified.kind.rawValue)
    add(classified.line.length)
    for byte in classified.line.firstWord.utf8 { add(Int(byte)) }
  }
}

/// The results of a replay. The event chain and the plain loop must compute equal results.
struct LineCounts: Sendable, Equatable {
  /// The number of lines for which one rate is computed.
  static let block = 500

  var lines = 0
  var bytes = 0
  var blank = Digest()
  var blankCount = 0
  var perClass = [Int](repeating: 0, count: LineClass.allCases.count)
  /// A digest of the lines that the background handler stored.
  var stored = Digest()
  var storedCount = 0
  /// The number of lines that the handler on the main actor showed.
  var shown = 0
  /// A digest of the rates, in order. A rate is the number of bytes in ``block`` successive lines.
  var rates = Digest()
  var rateCount = 0
  /// A digest of the lines that reached the handler which is locked for a part of the time.
  var audited = Digest()
  var auditedCount = 0
  /// A digest of the lines that reached the once handlers.
  var once = Digest()
  var onceCount = 0
  /// A digest of the lines that reached the handler which is added for a part of the time.
  var visiting = Digest()
  var visitingCount = 0
}
