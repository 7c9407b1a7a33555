// Checks the arguments that users pass, and the texts that other programs send. Each error names
// what was expected and what was found. An error quotes at most 80 characters of a text, with
// control characters escaped.

/// For an error or a log: in quotation marks, the first 80 characters, control characters escaped.
func shown(_ text: String) -> String {
  var result = "\""
  for scalar in text.unicodeScalars.prefix(80) {
    result += scalar.value < 32 || scalar.value == 127 ? "\\u{\(String(scalar.value, radix: 16))}" : String(scalar)
  }
  return result + (text.unicodeScalars.count > 80 ? "…\"" : "\"")
}

/// Another program may have written any characters, and a terminal obeys some.
package func onOneLine(_ text: String) -> String {
  String(String.UnicodeScalarView(text.unicodeScalars.map { $0.value < 32 || $0.value == 127 ? " " : $0 }))
}

/// On one line, with at most 1,000 characters, and without blanks at both ends.
func headerValue(_ text: String) -> String {
  let scalars = Array(onOneLine(String(text.unicodeScalars.prefix(1_000))).unicodeScalars)
  let end = scalars.lastIndex { $0 != " " } ?? -1
  return String(String.UnicodeScalarView(scalars[...end].drop { $0 == " " }))
}

/// With `allowsWildcard`, the last word may be `*`.
func checkSubject(_ subject: String, allowsWildcard: Bool = false) throws {
  func error(_ fault: String) -> TransportError {
    TransportError(
      .badSubject,
      "expected a subject of words that are joined by dots, as in \"orders.placed\"; got \(shown(subject)), which \(fault)"
    )
  }
  guard !subject.isEmpty else { throw error("is empty") }
  guard subject.utf8.count <= 255 else { throw error("has \(subject.utf8.count) bytes, more than 255") }
  for byte in subject.utf8 where byte <= 32 || byte == 127 { throw error("has a space or a control character") }
  var words = subject.split(separator: ".", omittingEmptySubsequences: false)
  if words.contains("") { throw error("has an empty word") }
  if allowsWildcard, words.count > 1, words.last == "*" { words.removeLast() }
  for word in words where word.contains("*") || word.contains(">") { throw error("has a wildcard") }
  if subject.hasPrefix("$") || words.first == "_INBOX" { throw error("belongs to the engine") }
}

func checkGroup(_ group: String) throws {
  let isGood =
    !group.isEmpty && group.utf8.count <= 64
    && group.utf8.allSatisfy {
      (48...57).contains($0) || (65...90).contains($0) || (97...122).contains($0) || $0 == 45 || $0 == 95
    }
  guard isGood else {
    throw TransportError(
      .badGroup, "expected a group name of 1 to 64 letters, digits, - and _; got \(shown(group))")
  }
}

package func unknownGroup(_ group: String, _ subject: String) -> TransportError {
  TransportError(.badGroup, "expected a group that has listened to \(subject); nobody has as \(shown(group))")
}

/// The names that belong to the library are refused.
func checkHeaders(_ headers: [String: String]) throws {
  try checkHeaderSyntax(headers)
  for name in headers.keys {
    let lowercase = name.lowercased()
    guard !lowercase.hasPrefix("eventing-"), !lowercase.hasPrefix("nats-") else {
      throw TransportError(.badHeader, "expected a header of your own; \(shown(name)) belongs to the library")
    }
  }
}

/// Accepts names that belong to the library: a codec, or code that calls an engine itself, may
/// write them.
package func checkHeaderSyntax(_ headers: [String: String]) throws {
  for (name, value) in headers {
    guard !name.isEmpty, name.utf8.allSatisfy({ $0 > 32 && $0 < 127 && $0 != 58 }) else {
      throw TransportError(
        .badHeader, "expected a header name of visible ASCII characters without a colon; got \(shown(name))")
    }
    guard !value.utf8.contains(where: { $0 < 32 && $0 != 9 || $0 == 127 }) else {
      throw TransportError(
        .badHeader, "expected a value without line breaks and control characters for the header \(shown(name))")
    }
    // Engines remove such blanks.
    let ends = [value.utf8.first, value.utf8.last]
    guard !ends.contains(32), !ends.contains(9) else {
      throw TransportError(
        .badHeader, "expected a value without blanks at the beginning and the end for the header \(shown(name))")
    }
  }
}

func checkID(_ id: String) throws {
  guard !id.isEmpty, id.utf8.count <= 255, id.utf8.allSatisfy({ $0 > 32 && $0 != 127 }) else {
    throw TransportError(
      .badOption, "expected an id of 1 to 255 bytes without spaces and control characters; got \(shown(id))")
  }
}
