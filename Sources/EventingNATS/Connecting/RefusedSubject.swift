#if NATS
  /// A subject that a server may name in the error text with which it refuses a publish or a
  /// subscription.
  struct RefusedSubject {
    enum Verb: String { case publish = "Publish", subscribe = "Subscription" }

    /// The part of the subject that an error text names: the whole subject, or only its beginning,
    /// because libnats has cut the text.
    enum Match { case whole, cut }

    /// The smallest length, in bytes, of an error text that may lack its end because libnats has
    /// cut it. libnats keeps 255 bytes of a text at most; this number is smaller, to be safe.
    private static let cutLength = 240

    /// The part of an error text that names the subject. It is written as the server writes it,
    /// with a backslash before each quotation mark and each backslash of the subject.
    private let words: String
    private let begin: String

    init(_ subject: String, for verb: Verb) {
      begin = "for \(verb.rawValue) to \""
      let escaped = subject.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : String($0) }.joined()
      words = "\(begin)\(escaped)\""
    }

    /// Returns whether an error text names the whole subject, or only its beginning; `nil` if the
    /// text does not name the subject. Several subjects may have the beginning that a cut text
    /// names.
    func match(in text: String) -> Match? {
      if text.contains(words) { return .whole }
      guard text.utf8.count >= Self.cutLength, let start = text.firstRange(of: begin)?.lowerBound else { return nil }
      var rest = text[start...]
      if rest.last == "\u{FFFD}" { rest.removeLast() }  // its character was cut in two
      return words.utf8.starts(with: rest.utf8) ? .cut : nil
    }
  }
#endif
