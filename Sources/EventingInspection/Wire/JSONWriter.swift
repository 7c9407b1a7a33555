struct JSONWriter {
  private(set) var bytes: [UInt8] = []
  private var needsComma = false

  /// The limit is in bytes, before escaping.
  static let longestText = 256

  /// The writer can go back here.
  struct Mark: Equatable {
    fileprivate let count: Int
    fileprivate let needsComma: Bool
  }

  var mark: Mark { Mark(count: bytes.count, needsComma: needsComma) }

  mutating func goBack(to mark: Mark) {
    bytes.removeLast(bytes.count - mark.count)
    needsComma = mark.needsComma
  }

  // MARK: Structure

  mutating func beginObject() { begin("{") }
  mutating func endObject() { end("}") }
  mutating func beginArray() { begin("[") }
  mutating func endArray() { end("]") }
  mutating func endLine() { bytes.append(UInt8(ascii: "\n")) }

  /// The key must be plain text.
  mutating func key(_ key: StaticString) {
    separate()
    bytes.append(UInt8(ascii: "\""))
    key.withUTF8Buffer { unsafe bytes.append(contentsOf: $0) }
    bytes.append(UInt8(ascii: "\""))
    bytes.append(UInt8(ascii: ":"))
    needsComma = false
  }

  private mutating func begin(_ character: Unicode.Scalar) {
    separate()
    bytes.append(UInt8(ascii: character))
    needsComma = false
  }

  private mutating func end(_ character: Unicode.Scalar) {
    bytes.append(UInt8(ascii: character))
    needsComma = true
  }

  private mutating func separate() {
    if needsComma { bytes.append(UInt8(ascii: ",")) }
    needsComma = true
  }

  // MARK: Values

  mutating func null() { raw("null") }
  mutating func value(_ value: Bool) { raw(value ? "true" : "false") }
  mutating func value(_ value: Int) { self.value(signed: value) }

  mutating func value(_ value: UInt64) {
    separate()
    append(Swift.min(value, 1 << 53 - 1))
  }

  mutating func value(_ value: UInt64?) { if let value { self.value(value) } else { null() } }
  mutating func value(_ value: Int?) { if let value { self.value(value) } else { null() } }
  mutating func value(_ text: String?) { if let text { self.value(text) } else { null() } }

  private mutating func value(signed value: Int) {
    separate()
    if value < 0 { bytes.append(UInt8(ascii: "-")) }
    append(UInt64(value.magnitude))
  }

  private mutating func append(_ value: UInt64) {
    if value >= 10 { append(value / 10) }
    bytes.append(UInt8(ascii: "0") + UInt8(value % 10))
  }

  mutating func microseconds(_ nanoseconds: UInt64) {
    separate()
    append(nanoseconds / 1_000)
    bytes.append(UInt8(ascii: "."))
    for unit in [100, 10, 1] as [UInt64] { bytes.append(UInt8(ascii: "0") + UInt8(nanoseconds / unit % 10)) }
  }

  private mutating func raw(_ text: StaticString) {
    separate()
    text.withUTF8Buffer { unsafe bytes.append(contentsOf: $0) }
  }

  /// The text is cut to ``longestText`` bytes, and escaped.
  mutating func value(_ text: String) {
    separate()
    bytes.append(UInt8(ascii: "\""))
    for byte in JSONWriter.cut(text).utf8 { append(escaped: byte) }
    bytes.append(UInt8(ascii: "\""))
  }

  /// Cut between two characters. A cut text ends with `…`.
  static func cut(_ text: String) -> String {
    guard text.utf8.count > longestText else { return text }
    var left = longestText - "…".utf8.count
    let kept = text.prefix { character in
      left -= character.utf8.count
      return left >= 0
    }
    return kept + "…"
  }

  private mutating func append(escaped byte: UInt8) {
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"):
      bytes.append(UInt8(ascii: "\\"))
      bytes.append(byte)
    case 0..<0x20, 0x7F:
      let digits = Array("0123456789abcdef".utf8)
      bytes.append(contentsOf: "\\u00".utf8)
      bytes.append(digits[Int(byte >> 4)])
      bytes.append(digits[Int(byte & 15)])
    default: bytes.append(byte)
    }
  }
}

extension JSONWriter {
  mutating func pair(_ key: StaticString, _ value: Bool) {
    self.key(key)
    self.value(value)
  }
  mutating func pair(_ key: StaticString, _ value: Int?) {
    self.key(key)
    self.value(value)
  }
  mutating func pair(_ key: StaticString, _ value: UInt64?) {
    self.key(key)
    self.value(value)
  }
  mutating func pair(_ key: StaticString, _ value: String?) {
    self.key(key)
    self.value(value)
  }
  mutating func pair(_ key: StaticString, _ values: [UInt64]) {
    self.key(key)
    beginArray()
    for value in values { self.value(value) }
    endArray()
  }
}
