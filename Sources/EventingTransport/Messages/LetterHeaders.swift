enum LetterHeaders {
  /// No engine obeys the result. `Nats-…` is an instruction to the server, which would refuse the
  /// letter, or delete others; so the name gets the prefix ``HeaderName/deadInstruction``. A name
  /// or a value that cannot be sent is escaped.
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

  /// The headers that a message had before it became a letter, without instructions to the engine
  /// and those that cannot be sent.
  static func original(_ headers: [String: String]) -> [String: String] {
    var result: [String: String] = [:]
    for (name, value) in headers {
      if name.hasPrefix("Eventing-Dead-") || [HeaderName.originalID, HeaderName.onlyGroup].contains(name) { continue }
      result[name] = value
    }
    return result
  }

  static func only(_ group: String, _ filterMark: String) -> String { "\(group) \(filterMark)" }

  /// Equal for two attempts to send a letter again, so that a stream stores one of them.
  static func idOfRepetition(of letter: RemoteDeadLetter) -> String {
    let place = String(stableHash("\(letter.place.streamMark) \(letter.position)"), radix: 36)
    return "\(sendableID(letter.id)).again.\(letter.deaths).\(place)"
  }

  /// Another program may have written any bytes.
  static func sendableID(_ id: String) -> String {
    if (try? checkID(id)) != nil { return id }
    return "\(headerValue(String(id.unicodeScalars.prefix(80))))~\(String(stableHash(id), radix: 36))"
  }

  /// Oldest first; the last mark is that of the message's own subject. Another program that writes
  /// the header can only prevent letters of its own message.
  static func way(of message: RemoteMessage) -> [String] {
    let own = mark(of: message.subject)
    let way = message.headers[HeaderName.deadWay]?.split(separator: " ").suffix(mostMarks - 1).map(String.init) ?? []
    // No letter goes to a subject on its way. So this one was published again by hand.
    return way.contains(own) ? [own] : way + [own]
  }

  private static let mostMarks = 16

  static func mark(of subject: String) -> String { String(stableHash(subject), radix: 36) }

  /// Escapes control characters, `%`, and blanks at both ends.
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
  /// The first call leaves out the headers that decoding the body does not need. Each further call
  /// removes half of the body. Headers say what is missing. Returns false if nothing is left to
  /// remove.
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
