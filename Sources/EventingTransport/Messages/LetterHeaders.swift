/// Makes the headers of a dead letter from those of its message, which another program may have
/// written.
enum LetterHeaders {
  /// Returns the headers in a form in which they can be sent, and which no engine obeys.
  ///
  /// A header whose name begins with `Nats-` is an instruction to the server: it would refuse the
  /// letter, or delete others. So such a header gets the name ``HeaderName/deadInstruction`` with
  /// the rest of its own. A name or a value that cannot be sent is escaped.
  static func sendable(_ headers: [String: String]) -> [String: String] {
    var result: [String: String] = [:]
    for (name, value) in headers {
      if name.lowercased().hasPrefix("nats-") {
        result[HeaderName.deadInstruction + SubjectWord.escaped(String(name.dropFirst(5)))] = escaped(value)
      } else if (try? checkHeaderSyntax([name: value])) != nil {
        result[name] = value
      } else {
        result[HeaderName.deadHeader + SubjectWord.escaped(name)] = escaped(value)
      }
    }
    return result
  }

  /// Returns marks of the subjects that a message came from as a dead letter, the oldest first. The
  /// last one is that of its own subject.
  ///
  /// Another program may write the header with these marks. It can only prevent that a letter is
  /// made of its own message, and only for the dead-letter subjects whose marks it writes.
  static func way(of message: RemoteMessage) -> [String] {
    let own = mark(of: message.subject)
    let way = message.headers[HeaderName.deadWay]?.split(separator: " ").suffix(mostMarks - 1).map(String.init) ?? []
    // No letter goes to a subject on its way. So this one was published again by hand.
    return way.contains(own) ? [own] : way + [own]
  }

  /// The largest number of marks in a letter.
  private static let mostMarks = 16

  /// Returns the mark of a subject, which is short and has only letters and digits.
  static func mark(of subject: String) -> String { String(stableHash(subject), radix: 36) }

  /// Returns a text as the value of a header, unchanged if possible. Otherwise each control
  /// character, each `%`, and each blank at the beginning or the end is written as `%` with two
  /// hexadecimal digits.
  static func escaped(_ text: String) -> String {
    if (try? checkHeaderSyntax(["a": text])) != nil { return text }
    func isBlank(_ scalar: Unicode.Scalar) -> Bool { scalar == " " || scalar == "\t" }
    let scalars = Array(text.unicodeScalars)
    let first = scalars.firstIndex { !isBlank($0) } ?? scalars.endIndex
    let last = scalars.lastIndex { !isBlank($0) } ?? 0
    var result = ""
    for (index, scalar) in scalars.enumerated() {
      let isPlain =
        scalar.value >= 32 && scalar.value != 127 && scalar != "%"
        && (first...max(first, last) ~= index || !isBlank(scalar))
      if isPlain {
        result.unicodeScalars.append(scalar)
      } else {
        result += (scalar.value < 16 ? "%0" : "%") + String(scalar.value, radix: 16)
      }
    }
    return result
  }
}

extension RemoteMessage {
  /// Makes a dead letter smaller, because the engine refuses it for its size. The first call leaves
  /// out the headers of its message, apart from those with which the body is decoded. Each further
  /// call removes half of the body. Headers say what is missing. Returns false if nothing is left
  /// to remove.
  mutating func cutLetter() -> Bool {
    let kept = headers.filter { name, _ in
      name == HeaderName.contentType
        || name.hasPrefix("Eventing-") && !name.hasPrefix(HeaderName.deadHeader)
          && !name.hasPrefix(HeaderName.deadInstruction)
    }
    if kept.count < headers.count {
      let count = headers.count - kept.count
      headers = kept
      headers[HeaderName.deadLeftOut] = "\(count)"
      return true
    }
    if body.isEmpty { return false }
    headers[HeaderName.deadSize] = headers[HeaderName.deadSize] ?? "\(body.count)"
    body.removeLast((body.count + 1) / 2)
    return true
  }
}
