#if NATS
  import EventingTransport

  struct StreamName: Sendable {
    let name: String
    let subjects: [String]

    /// If the subject has wildcards, the stream must store all matching subjects.
    func stores(_ subject: String) -> Bool { subjects.contains { StreamName.pattern($0, covers: subject) } }

    private static func pattern(_ pattern: String, covers subject: String) -> Bool {
      let words = pattern.split(separator: ".", omittingEmptySubsequences: false)
      let found = subject.split(separator: ".", omittingEmptySubsequences: false)
      for (index, word) in words.enumerated() {
        if word == ">" { return found.count > index }
        guard index < found.count, word == "*" && found[index] != ">" || word.utf8.elementsEqual(found[index].utf8)
        else { return false }
      }
      return words.count == found.count
    }

    func check(_ subject: String) throws {
      guard !stores(subject) else { return }
      throw TransportError(
        .badSubject,
        "expected a subject that the stream \(name) stores (\(subjects.joined(separator: ", "))); got \(quoted(subject))"
      )
    }

    /// An FNV-1a hash, in characters that every name may contain.
    static func hash(_ text: String) -> String {
      var hash: UInt64 = 0xcbf2_9ce4_8422_2325
      for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
      return String(hash, radix: 36)
    }

    static func check(_ name: String, _ subjects: [String]) throws {
      let isGood =
        !name.isEmpty && name.utf8.count <= 255
        && name.utf8.allSatisfy { $0 > 32 && $0 < 127 && !Array(".*>/\\".utf8).contains($0) }
      guard isGood else {
        throw TransportError(
          .badOption,
          "expected a stream's name of visible ASCII characters without . * > / and \\; got \(quoted(name))")
      }
      guard !subjects.isEmpty else {
        throw TransportError(.badSubject, "expected the subjects of the stream \(name), as in [\"orders.>\"]; got none")
      }
      for subject in subjects {
        let words = subject.split(separator: ".", omittingEmptySubsequences: false)
        let isGood =
          !subject.utf8.contains { $0 <= 32 || $0 == 127 }
          && words.enumerated().allSatisfy { index, word in
            !word.isEmpty
              && (word == "*" || word == ">" && index == words.count - 1 || !word.contains { "*>".contains($0) })
          } && !subject.utf8.starts(with: "$".utf8) && words[0] != "_INBOX"
        if !isGood {
          throw TransportError(
            .badSubject,
            "expected words that are joined by dots, with * for a word or > at the end; got \(quoted(subject))")
        }
      }
    }
  }
#endif
