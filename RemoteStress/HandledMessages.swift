#if NATS
  /// The messages that the members of a group have logged, each with its attempt.
  struct HandledMessages {
    private(set) var ids: Set<Substring> = []
    /// The number of times that a message was handled again.
    private(set) var repeats = 0
    /// The number of repeats that show a loss at the broker. The broker counts in its record of the
    /// group how often it has delivered a message, and sends that number as the attempt. If the
    /// attempt of a repeat is not higher than that of the handling before, the broker has lost a
    /// part of this record. All other repeats happen because the verdict on the previous handling
    /// came to the broker too late, or was lost with a connection or a process.
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
