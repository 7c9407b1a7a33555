/// Reading a value takes memory in proportion to the length of its text.
enum JSONValue: Equatable {
  case null
  case bool(Bool)
  /// The absolute value is below 2^53.
  case integer(Int)
  /// Another number. Not stored, because no request needs it.
  case number
  case text(String)
  case array([JSONValue])
  case object([String: JSONValue])

  /// The limits hold for one text.
  static let (mostValues, deepest) = (12_000, 16)

  /// `nil` if it is not JSON, has too many values, or is nested too deeply.
  init?(_ bytes: ArraySlice<UInt8>) {
    var reader = Reader(bytes)
    guard let value = reader.value(depth: 0), reader.isAtEnd else { return nil }
    self = value
  }

  subscript(key: String) -> JSONValue? { if case .object(let pairs) = self { pairs[key] } else { nil } }

  private struct Reader {
    private let bytes: ArraySlice<UInt8>
    private var at: Int
    private var left = JSONValue.mostValues

    init(_ bytes: ArraySlice<UInt8>) {
      self.bytes = bytes
      at = bytes.startIndex
    }

    private var next: UInt8? { at < bytes.endIndex ? bytes[at] : nil }

    private mutating func skipSpace() {
      while let byte = next, byte == 0x20 || byte == 0x09 || byte == 0x0D || byte == 0x0A { at += 1 }
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
      guard next == UInt8(ascii: character) else { return false }
      at += 1
      return true
    }

    private mutating func take(_ word: StaticString) -> Bool {
      let found = word.withUTF8Buffer { word in unsafe bytes[at...].starts(with: word) ? word.count : 0 }
      at += found
      return found > 0
    }

    var isAtEnd: Bool {
      mutating get {
        skipSpace()
        return next == nil
      }
    }

    mutating func value(depth: Int) -> JSONValue? {
      left -= 1
      skipSpace()
      guard left >= 0, depth <= JSONValue.deepest, let byte = next else { return nil }
      switch Unicode.Scalar(byte) {
      case "{": return object(depth)
      case "[": return array(depth)
      case "\"": return text().map { .text($0) }
      case "t": return take("true") ? .bool(true) : nil
      case "f": return take("false") ? .bool(false) : nil
      case "n": return take("null") ? .null : nil
      default: return number()
      }
    }

    private mutating func array(_ depth: Int) -> JSONValue? {
      at += 1
      var values: [JSONValue] = []
      skipSpace()
      if take("]" as Unicode.Scalar) { return .array([]) }
      while true {
        guard let value = value(depth: depth + 1) else { return nil }
        values.append(value)
        skipSpace()
        if take("]" as Unicode.Scalar) { return .array(values) }
        guard take("," as Unicode.Scalar) else { return nil }
      }
    }

    private mutating func object(_ depth: Int) -> JSONValue? {
      at += 1
      var pairs: [String: JSONValue] = [:]
      skipSpace()
      if take("}" as Unicode.Scalar) { return .object([:]) }
      while true {
        skipSpace()
        guard next == UInt8(ascii: "\""), let key = text() else { return nil }
        skipSpace()
        guard take(":" as Unicode.Scalar), let value = value(depth: depth + 1) else { return nil }
        pairs[key] = value
        skipSpace()
        if take("}" as Unicode.Scalar) { return .object(pairs) }
        guard take("," as Unicode.Scalar) else { return nil }
      }
    }

    private mutating func number() -> JSONValue? {
      let start = at
      _ = take("-" as Unicode.Scalar)
      let digits = at
      while let byte = next, (0x30...0x39).contains(byte) { at += 1 }
      guard at > digits, at == digits + 1 || bytes[digits] != 0x30 else { return nil }
      var isInteger = true
      if take("." as Unicode.Scalar) {
        isInteger = false
        guard skipDigits() else { return nil }
      }
      if take("e" as Unicode.Scalar) || take("E" as Unicode.Scalar) {
        isInteger = false
        if !take("+" as Unicode.Scalar) { _ = take("-" as Unicode.Scalar) }
        guard skipDigits() else { return nil }
      }
      guard isInteger, at - start <= 17, let value = Int(String(decoding: bytes[start..<at], as: UTF8.self)),
        value.magnitude < 1 << 53
      else { return .number }
      return .integer(value)
    }

    private mutating func skipDigits() -> Bool {
      let start = at
      while let byte = next, (0x30...0x39).contains(byte) { at += 1 }
      return at > start
    }

    private mutating func text() -> String? {
      at += 1
      var text: [UInt8] = []
      while let byte = next {
        at += 1
        switch byte {
        case UInt8(ascii: "\""): return String(validating: text, as: UTF8.self)
        case 0..<0x20: return nil
        case UInt8(ascii: "\\"): guard escape(&text) else { return nil }
        default: text.append(byte)
        }
      }
      return nil
    }

    private mutating func escape(_ text: inout [UInt8]) -> Bool {
      guard let byte = next else { return false }
      at += 1
      switch Unicode.Scalar(byte) {
      case "\"", "\\", "/": text.append(byte)
      case "b": text.append(0x08)
      case "f": text.append(0x0C)
      case "n": text.append(0x0A)
      case "r": text.append(0x0D)
      case "t": text.append(0x09)
      case "u":
        guard var code = hex() else { return false }
        if (0xD800...0xDBFF).contains(code) {
          guard take("\\u" as StaticString), let low = hex(), (0xDC00...0xDFFF).contains(low) else { return false }
          code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
        }
        guard let scalar = Unicode.Scalar(code) else { return false }
        text.append(contentsOf: String(Character(scalar)).utf8)
      default: return false
      }
      return true
    }

    private mutating func hex() -> UInt32? {
      guard at + 4 <= bytes.endIndex else { return nil }
      let digits = bytes[at..<at + 4]
      guard digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }) else { return nil }
      at += 4
      return UInt32(String(decoding: digits, as: UTF8.self), radix: 16)
    }
  }
}
