#if NATS
  /// The error text with which a server refuses a publish or a subscription names the subject.
  struct RefusedSubject {
    enum Verb: String { case publish = "Publish", subscribe = "Subscription" }

    /// libnats may have cut the end of the text.
    enum Match { case whole, cut }

    /// A text of this length may be cut: libnats keeps at most 255 bytes.
    private static let cutLength = 240

    /// As the server writes it: a backslash stands before each quotation mark and each backslash.
    private let words: String
    private let begin: String

    init(_ subject: String, for verb: Verb) {
      begin = "for \(verb.rawValue) to \""
      let escaped = subject.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : String($0) }.joined()
      words = "\(begin)\(escaped)\""
    }

    /// `nil` if the text doesn't name the subject. Several subjects may have the beginning that a
    /// cut text names.
    func match(in text: String) -> Match? {
      if text.contains(words) { return .whole }
      guard text.utf8.count >= Self.cutLength, let start = text.firstRange(of: begin)?.lowerBound else { return nil }
      var rest = text[start...]
      if rest.last == "\u{FFFD}" { rest.removeLast() }  // its character was cut in two
      return words.utf8.starts(with: rest.utf8) ? .cut : nil
    }
  }
#endif
