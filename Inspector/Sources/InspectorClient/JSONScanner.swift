/// Checks a JSON text and finds where its values lie, without decoding them.
struct JSONScanner {
  private let bytes: ArraySlice<UInt8>
  var index: Int
  /// The largest number of values that may be nested, the outermost and the innermost included.
  private static let deepest = 64

  init(_ text: [UInt8]) { self.init(text[...]) }

  init(_ slice: ArraySlice<UInt8>) { (bytes, index) = (slice, slice.startIndex) }

  private var next: UInt8? { index < bytes.endIndex ? bytes[index] : nil }

  mutating func skipSpace() {
    while let byte = next, byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") { index += 1 }
  }

  /// Skips whitespace and the colon between a name and its value, in a text that was checked
  /// before.
  mutating func skipPunctuation() {
    skipSpace()
    index += 1
  }

  /// Moves to the next element of an array, or to the next member of an object, in a text that was
  /// checked before.
  ///
  /// - Returns: `false` at the end of the array or object.
  mutating func nextInList() -> Bool {
    skipSpace()
    if next == UInt8(ascii: ",") { index += 1 }
    skipSpace()
    guard let byte = next else { return false }
    return byte != UInt8(ascii: "]") && byte != UInt8(ascii: "}")
  }

  /// Checks one value and returns where it lies.
  mutating func value(depth: Int) throws(JSONFault) -> Range<Int> {
    skipSpace()
    let start = index
    guard depth < Self.deepest, let byte = next else { throw JSONFault(at: index) }
    switch byte {
    case UInt8(ascii: "{"): try list(to: UInt8(ascii: "}"), named: true, depth: depth)
    case UInt8(ascii: "["): try list(to: UInt8(ascii: "]"), named: false, depth: depth)
    case UInt8(ascii: "\""): _ = try string()
    case UInt8(ascii: "t"): try word("true")
    case UInt8(ascii: "f"): try word("false")
    case UInt8(ascii: "n"): try word("null")
    default: try number()
    }
    return start..<index
  }

  private mutating func list(to end: UInt8, named: Bool, depth: Int) throws(JSONFault) {
    index += 1
    skipSpace()
    if next == end {
      index += 1
      return
    }
    while true {
      if named {
        skipSpace()
        _ = try string()
        skipSpace()
        guard next == UInt8(ascii: ":") else { throw JSONFault(at: index) }
        index += 1
      }
      _ = try value(depth: depth + 1)
      skipSpace()
      guard let byte = next else { throw JSONFault(at: index) }
      index += 1
      if byte == end { return }
      guard byte == UInt8(ascii: ",") else { throw JSONFault(at: index - 1) }
    }
  }

  /// Checks a string and returns where it lies, with its quotes.
  mutating func string() throws(JSONFault) -> Range<Int> {
    let start = index
    guard next == UInt8(ascii: "\"") else { throw JSONFault(at: index) }
    index += 1
    while let byte = next {
      index += 1
      if byte == UInt8(ascii: "\"") { return start..<index }
      if byte < 0x20 { throw JSONFault(at: index - 1) }
      guard byte == UInt8(ascii: "\\") else { continue }
      guard let escaped = next, "\"\\/bfnrtu".utf8.contains(escaped) else { throw JSONFault(at: index) }
      index += 1
      guard escaped == UInt8(ascii: "u") else { continue }
      for _ in 0..<4 {
        guard let digit = next, Character(Unicode.Scalar(digit)).isHexDigit else { throw JSONFault(at: index) }
        index += 1
      }
    }
    throw JSONFault(at: index)
  }

  private mutating func word(_ word: StaticString) throws(JSONFault) {
    let end = index + word.utf8CodeUnitCount
    guard end <= bytes.endIndex, bytes[index..<end].elementsEqual("\(word)".utf8) else { throw JSONFault(at: index) }
    index = end
  }

  private mutating func number() throws(JSONFault) {
    let start = index
    if next == UInt8(ascii: "-") { index += 1 }
    let whole = try digits()
    guard whole == 1 || bytes[index - whole] != UInt8(ascii: "0") else { throw JSONFault(at: start) }
    if next == UInt8(ascii: ".") {
      index += 1
      _ = try digits()
    }
    guard next == UInt8(ascii: "e") || next == UInt8(ascii: "E") else { return }
    index += 1
    if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { index += 1 }
    _ = try digits()
  }

  private mutating func digits() throws(JSONFault) -> Int {
    let start = index
    while let byte = next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { index += 1 }
    guard index > start else { throw JSONFault(at: index) }
    return index - start
  }

  /// Returns the text of a checked string without its quotes, with the escapes replaced.
  static func unescaped(_ inner: ArraySlice<UInt8>) -> String {
    var units: [UInt16] = []
    var (plain, index) = (inner.startIndex, inner.startIndex)
    func flush(to end: Int) { units += String(decoding: inner[plain..<end], as: UTF8.self).utf16 }
    while index < inner.endIndex {
      guard inner[index] == UInt8(ascii: "\\") else {
        index += 1
        continue
      }
      flush(to: index)
      switch inner[index + 1] {
      case UInt8(ascii: "u"):
        units.append(UInt16(String(decoding: inner[index + 2..<index + 6], as: UTF8.self), radix: 16) ?? 0xfffd)
        index += 4
      case UInt8(ascii: "n"): units.append(10)
      case UInt8(ascii: "r"): units.append(13)
      case UInt8(ascii: "t"): units.append(9)
      case UInt8(ascii: "b"): units.append(8)
      case UInt8(ascii: "f"): units.append(12)
      case let other: units.append(UInt16(other))
      }
      index += 2
      plain = index
    }
    flush(to: inner.endIndex)
    return String(decoding: units, as: UTF16.self)
  }
}
