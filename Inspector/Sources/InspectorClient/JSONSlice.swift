/// A part of a JSON text that was checked, and is kept as it was written.
///
/// Rows go to the browser as the app wrote them, so that keys of a later version are not lost.
public struct JSONSlice: Sendable {
  /// The bytes of the value, without whitespace around them.
  public let bytes: ArraySlice<UInt8>

  /// Checks a text that holds one JSON value.
  ///
  /// - Parameter text: The bytes of the text. Of the bytes below 0x20, only tabs between values are
  ///   accepted.
  /// - Throws: `JSONFault` if the text is not JSON.
  public init(_ text: [UInt8]) throws(JSONFault) {
    var scanner = JSONScanner(text)
    let range = try scanner.value(depth: 0)
    scanner.skipSpace()
    guard scanner.index == text.count else { throw JSONFault(at: scanner.index) }
    bytes = text[range]
  }

  private init(checked bytes: ArraySlice<UInt8>) { self.bytes = bytes }

  /// The value with memory of its own: a slice keeps the whole text alive.
  var copied: JSONSlice { JSONSlice(checked: ArraySlice(Array(bytes))) }

  /// The members of an object, the last of each name; `nil` if this is no object.
  public var members: [String: JSONSlice]? {
    guard bytes.first == UInt8(ascii: "{") else { return nil }
    var scanner = JSONScanner(bytes)
    scanner.index += 1
    var members: [String: JSONSlice] = [:]
    while scanner.nextInList() {
      guard let name = try? scanner.string() else { break }
      scanner.skipPunctuation()
      guard let value = try? scanner.value(depth: 1) else { break }
      members[JSONSlice(checked: bytes[name]).string ?? ""] = JSONSlice(checked: bytes[value])
    }
    return members
  }

  /// The elements of an array; `nil` if this is no array.
  public var elements: [JSONSlice]? {
    guard bytes.first == UInt8(ascii: "[") else { return nil }
    var scanner = JSONScanner(bytes)
    scanner.index += 1
    var elements: [JSONSlice] = []
    while scanner.nextInList(), let value = try? scanner.value(depth: 1) {
      elements.append(JSONSlice(checked: bytes[value]))
    }
    return elements
  }

  /// The integer; `nil` if the value is no integer, or if its magnitude is above 2^53, which the
  /// protocol excludes.
  public var int: Int? {
    guard let number = Int(String(decoding: bytes, as: UTF8.self)), number.magnitude <= 1 << 53 else { return nil }
    return number
  }

  /// The Boolean value; `nil` if the value is neither `true` nor `false`.
  public var bool: Bool? {
    bytes.elementsEqual("true".utf8) ? true : bytes.elementsEqual("false".utf8) ? false : nil
  }

  /// The text; `nil` if this is no string. Half a surrogate pair becomes U+FFFD.
  public var string: String? {
    guard bytes.count >= 2, bytes.first == UInt8(ascii: "\"") else { return nil }
    let inner = bytes.dropFirst().dropLast()
    guard inner.contains(UInt8(ascii: "\\")) else { return String(decoding: inner, as: UTF8.self) }
    return JSONScanner.unescaped(inner)
  }
}

/// A text that is not JSON.
public struct JSONFault: Error, CustomStringConvertible {
  /// The offset of the byte that was not expected.
  public let offset: Int

  init(at offset: Int) { self.offset = offset }

  public var description: String { "expected JSON, got something else at byte \(offset)" }
}

extension String {
  /// The text as a JSON string, with its quotes.
  public var asJSON: String {
    var result = "\""
    for scalar in unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case "\n": result += "\\n"
      case _ where scalar.value < 0x20 || scalar.value == 0x7f || (0x2028...0x2029).contains(scalar.value):
        let hex = String(scalar.value, radix: 16)
        result += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }
}
