enum SubjectWord {
  /// Escapes all bytes but letters, digits, `-` and `_`. An empty text becomes `%`.
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
    // Only a word that `escaped` returns is accepted. Otherwise several words would stand for one
    // text, such as `a` and `%61`.
    guard let text = String(validating: bytes, as: UTF8.self), escaped(text) == word else { return nil }
    return text
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte) || byte == 45 || byte == 95
  }
}
