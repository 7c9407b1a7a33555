#if NATS
  /// The messages that the members of a group have logged, each with its attempt.
  struct HandledMessages {
    private(set) var ids: Set<Substring> = []
    /// The number of times that a message was handled again.
    private(set) var repeats = 0
    /// The number of repeats whose attempt has no higher number: the broker has lost a part of its
    /// record of the group. Before every other repeat, the broker has waited for a verdict, which
    /// was lost with a connection or a process, or which came too late.
    private(set) var forgotten = 0

    init(_ lines: [Substring]) {
      var attempts: [Substring: Int] = [:]
      for line in lines {
        let words = line.split(separator: " ")
        guard words.count == 2, let attempt = Int(words[1]) else { continue }
        if let before = attempts.updateValue(attempt, forKey: words[0]) {
          repeats += 1
          if attempt <= before { forgotten += 1 }
        }
        ids.insert(words[0])
      }
    }
  }
#endif
