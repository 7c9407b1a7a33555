/// `*` stands for one word, and a last `>` for one or more. Compared by bytes, as a broker does.
struct SubjectFilter: Hashable, Sendable {
  let text: String
  private let words: [Substring.UTF8View]
  private let isPlain: Bool

  static func == (one: SubjectFilter, other: SubjectFilter) -> Bool { one.text.hasBytes(of: other.text) }
  func hash(into hasher: inout Hasher) { ExactText(text).hash(into: &hasher) }

  init(_ text: String) {
    self.text = text
    words = text.utf8.split(separator: UInt8(ascii: "."))
    isPlain = !text.utf8.contains(UInt8(ascii: "*")) && !text.utf8.contains(UInt8(ascii: ">"))
  }

  func matches(_ subject: String) -> Bool {
    if isPlain { return text.hasBytes(of: subject) }
    if text == ">" { return subject.utf8.contains { $0 != UInt8(ascii: ".") } }
    let found = subject.utf8.split(separator: UInt8(ascii: "."))
    for (index, word) in words.enumerated() {
      if word.elementsEqual(">".utf8) { return found.count > index }
      guard index < found.count, word.elementsEqual("*".utf8) || word.elementsEqual(found[index]) else { return false }
    }
    return words.count == found.count
  }
}
