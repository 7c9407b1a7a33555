#if NATS
  /// The messages that the members of a group have logged, each with its attempt.
  struct HandledMessages {
    private(set) var ids: Set<Substring> = []
    /// The number of times that a message was handled again.
    private(set) var repeats = 0
    /// The number of repeats which show that the broker has lost a part of its record of the group.
    ///
    /// In this record, the broker counts how often it has delivered each message. The broker sends
    /// the count as the number of the attempt. If a repeat does not have a higher number than the
    /// previous attempt, the broker has lost the count. All other repeats happen because the
    /// verdict on the previous attempt came too late, or was lost with a connection or a process.
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
