import Eventing

struct ListenOptions: Sendable {
  var group: String?
  var start: StartPosition = .new
  var inFlight: Int
  var givenRetry: RetryPolicy?
  var deadLetter: String?
  var deduplication: Deduplication = .none
  /// True for keyed events: a message that reaches no handler counts as handled.
  var acceptsNoHandler = false

  var retry: RetryPolicy {
    givenRetry ?? .exponential(from: .milliseconds(100), to: .seconds(30), attempts: 5)
  }

  func check(_ subject: String, _ promises: TransportPromises) throws {
    if let group {
      try checkGroup(group)
      if !promises.hasGroups {
        throw TransportError(
          .notPromised, "expected a transport with groups for the group \(group); this one has none. Listen without as:"
        )
      }
    }
    if inFlight < 1 {
      throw TransportError(.badOption, "expected at least 1 message in flight, got inFlight: \(inFlight)")
    }
    if let deadLetter {
      try checkSubject(deadLetter)
      let isOwn =
        subject == deadLetter
        || subject.hasSuffix("*") && deadLetter.hasPrefix(subject.dropLast())
          && !deadLetter.dropFirst(subject.count - 1).contains(".")
      if isOwn {
        throw TransportError(
          .badOption, "expected a dead-letter subject that \(subject) does not reach, got \(shown(deadLetter))")
      }
    }
    guard !promises.isAtLeastOnce else { return }
    if deadLetter != nil {
      throw TransportError(
        .notPromised, "expected a stream for a dead-letter subject; this transport delivers at most once")
    }
    if let givenRetry, givenRetry.attempts > 1 {
      throw TransportError(
        .notPromised,
        "expected a stream for retry: with \(givenRetry.attempts) attempts on \(subject); this transport delivers at most once, so a message whose handler fails is gone. Leave retry: out"
      )
    }
    if start != .new {
      throw TransportError(
        .notPromised, "expected a stream for old messages; this transport stores none: begin at .new")
    }
  }
}
