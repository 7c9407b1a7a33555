/// A subject with wildcards: `*` stands for one word, and a last `>` for one or more words.
struct SubjectFilter: Hashable, Sendable {
  let text: String
  private let words: [Substring]
  private let isPlain: Bool

  init(_ text: String) {
    self.text = text
    words = text.split(separator: ".")
    isPlain = !text.utf8.contains(UInt8(ascii: "*")) && !text.utf8.contains(UInt8(ascii: ">"))
  }

  func matches(_ subject: String) -> Bool {
    if isPlain { return text == subject }
    if text == ">" { return subject.utf8.contains { $0 != UInt8(ascii: ".") } }
    let found = subject.split(separator: ".")
    for (index, word) in words.enumerated() {
      if word == ">" { return found.count > index }
      guard index < found.count, word == "*" || word == found[index] else { return false }
    }
    return words.count == found.count
  }
}
