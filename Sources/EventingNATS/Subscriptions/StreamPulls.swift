#if NATS
  import EventingTransport
  import Foundation

  /// One request for messages is a *pull*.
  ///
  /// A message does not say to which pull it belongs, and the server serves all open pulls in turn.
  /// A message is subtracted from `left` of the oldest pull, so `left` of a single pull may be
  /// wrong until the server ends it, and says how many messages it has not sent. If more messages
  /// arrive than there is room for, they wait in the subscription.
  struct StreamPulls: Sendable {
    private struct Pull: Sendable {
      let token: UInt64
      var left: Int
      let deadline: ContinuousClock.Instant
    }

    /// The server then ends a pull; a client cannot. So a member may receive messages for this long
    /// after its event was locked.
    static let expiry = Duration.seconds(2)
    /// The server may have a smaller limit.
    var most = 1_024
    /// The server may have a smaller limit.
    var time = StreamPulls.expiry
    private var pulls: [Pull] = []
    private var last: UInt64 = 0
    /// Pulls with a smaller `token` were given up, or the server has ended them.
    private var first: UInt64 = 1

    var isEmpty: Bool { pulls.isEmpty }

    func isOpen(_ token: UInt64) -> Bool { pulls.contains { $0.token == token } }

    /// Asks for `room` less what open pulls still expect. `nil` if no room is left, or little, and
    /// other pulls are open.
    mutating func begin(
      room: Int, of inFlight: Int, _ now: ContinuousClock.Instant
    ) -> (token: UInt64, batch: Int, time: Duration)? {
      let left = pulls.reduce(0) { $0 + $1.left }
      let room = min(room - left, most)
      guard room > 0, left == 0 || room * 2 >= inFlight || room >= min(256, most) else { return nil }
      last += 1
      pulls.append(Pull(token: last, left: room, deadline: now + time + .seconds(2)))
      return (last, room, time)
    }

    /// The oldest pull expects one message less.
    mutating func arrived() {
      guard !pulls.isEmpty else { return }
      pulls[0].left -= 1
      if pulls[0].left == 0 { pulls.removeFirst() }
    }

    mutating func end(_ token: UInt64) { pulls.removeAll { $0.token == token } }

    /// The server has ended the pull.
    ///
    /// - Parameter unsent: Differs from `left` if messages were subtracted from the wrong pull. The
    ///   difference is subtracted from the other pulls, the oldest first, or added to the newest.
    mutating func end(_ token: UInt64, unsent: Int) {
      guard token >= first, token <= last else { return }
      var excess = max(0, unsent)
      if let index = pulls.firstIndex(where: { $0.token == token }) { excess -= pulls.remove(at: index).left }
      if excess < 0, !pulls.isEmpty { pulls[pulls.count - 1].left -= excess }
      while excess > 0, !pulls.isEmpty {
        let part = min(excess, pulls[0].left)
        pulls[0].left -= part
        excess -= part
        if pulls[0].left == 0 { pulls.removeFirst() }
      }
    }

    mutating func endAll() {
      pulls = []
      first = last + 1
    }

    /// Returns whether the time of any pull has passed.
    mutating func expire(_ now: ContinuousClock.Instant) -> Bool {
      guard let index = pulls.lastIndex(where: { $0.deadline <= now }) else { return false }
      first = pulls[index].token + 1
      pulls.removeFirst(index + 1)
      return true
    }
  }

  extension ConsumerConfig {
    /// Equal in all processes that have the group. The name of a consumer may not contain dots, so
    /// the subject is hashed. A subscription without a group has a consumer of its own.
    static func baseName(_ subject: String, _ group: String?) -> String {
      group.map { "\($0)_\(StreamName.hash(subject))_" }
        ?? "one_\(String(UInt64.random(in: .min ... .max), radix: 36))\(String(UInt64.random(in: .min ... .max), radix: 36))_"
    }

    /// The name ends with the mark of the stream, and the server writes it into the subject for
    /// each verdict. So a late verdict never reaches a stream that was made instead.
    init(
      _ subject: String, _ options: SubscribeOptions, named baseName: String, in facts: StreamAdmin.StreamFacts
    ) {
      self.init(name: baseName + facts.mark, filter: subject, ackWait: StreamAdmin.ackWait.nanoseconds)
      if options.group == nil { inactiveThreshold = StreamAdmin.forgetting.nanoseconds }
      begin(at: options.start)
      fixStart(after: facts.lastPosition)
    }

    /// For recreating the consumer: begins after the last message up to which all have a final
    /// verdict, or where it began, if the answer does not say.
    func restarted(_ answer: StreamAnswer) -> ConsumerConfig {
      var config = self
      if let position = answer.handledPosition {
        config.begin(at: .position(position &+ 1))
      } else if let found = answer.config, let start = found.start {
        (config.start, config.startPosition, config.startTime) = (start, found.startPosition, found.startTime)
      }
      return config
    }

    /// Replaces `new` by the position after the last stored message. If the server loses its state
    /// of a consumer, that begins again at the configured start, and with `new` would leave out all
    /// earlier messages.
    private mutating func fixStart(after lastPosition: UInt64) {
      if start == "new" { begin(at: .position(lastPosition &+ 1)) }
    }

    mutating func begin(at position: StartPosition) {
      (startPosition, startTime) = (nil, nil)
      switch position.kind {
      case .new: start = "new"
      case .first: start = "all"
      case .position(let number):
        start = "by_start_sequence"
        startPosition = number
      case .time(let time):
        start = "by_start_time"
        // The server stores times in nanoseconds, in 64 bits.
        let seconds = min(max(time.timeIntervalSince1970, 0), 9_223_372_000)
        startTime = Date(timeIntervalSince1970: seconds).formatted(
          .iso8601.year().month().day().time(includingFractionalSeconds: true).timeZone(separator: .omitted))
      }
    }
  }
#endif
