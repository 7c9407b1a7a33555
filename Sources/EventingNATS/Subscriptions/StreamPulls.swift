#if NATS
  import EventingTransport
  import Foundation

  /// The messages that a subscription has requested from the server, but not received yet. One
  /// request is a *pull*.
  ///
  /// A message does not say to which pull it belongs, and the server serves all open pulls in turn.
  /// Each pull counts in `left` how many messages it still expects. A message that arrives is
  /// subtracted from `left` of the oldest pull. So `left` of a single pull may be wrong until the
  /// server ends a pull, and says how many messages it has not sent. If more messages arrive than
  /// there is room for, they wait in the subscription.
  struct StreamPulls: Sendable {
    private struct Pull: Sendable {
      let token: UInt64
      var left: Int
      let deadline: ContinuousClock.Instant
    }

    /// The time after which the server ends a pull. A client cannot cancel a pull. So a member may
    /// still receive messages for this long after its event was locked.
    static let expiry = Duration.seconds(2)
    /// The largest number of messages in one pull. The server may have a smaller limit.
    var most = 1_024
    /// The time after which the server ends a pull. The server may have a smaller limit.
    var time = StreamPulls.expiry
    private var pulls: [Pull] = []
    private var last: UInt64 = 0
    /// A number (`Pull.token`): no pull with this number or a higher one was given up. ``endAll()``
    /// gives up all pulls, and ``expire(_:)`` those whose time has passed. The server may still
    /// have them open. When the server ends a pull with a lower number, ``end(_:unsent:)`` does
    /// nothing.
    private var first: UInt64 = 1

    var isEmpty: Bool { pulls.isEmpty }

    /// Returns whether a pull is open: more of its messages are expected, and it was not given up.
    func isOpen(_ token: UInt64) -> Bool { pulls.contains { $0.token == token } }

    /// Begins a pull for the room that is left: `room` less the messages that the open pulls still
    /// expect. Returns `nil` if no room is left, or if little room is left and other pulls are
    /// open.
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

    /// Notes that a message has arrived: the oldest pull expects one message less.
    mutating func arrived() {
      guard !pulls.isEmpty else { return }
      pulls[0].left -= 1
      if pulls[0].left == 0 { pulls.removeFirst() }
    }

    mutating func end(_ token: UInt64) { pulls.removeAll { $0.token == token } }

    /// Ends a pull that the server has ended.
    ///
    /// - Parameter unsent: The number of requested messages that the server has not sent. It
    ///   differs from `left` of this pull if messages were subtracted from the wrong pull. If it is
    ///   larger, the difference is subtracted from the other pulls, the oldest first. If it is
    ///   smaller, the difference is added to the newest pull.
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

    /// Ends the pulls whose time has passed. Returns whether there were any.
    mutating func expire(_ now: ContinuousClock.Instant) -> Bool {
      guard let index = pulls.lastIndex(where: { $0.deadline <= now }) else { return false }
      first = pulls[index].token + 1
      pulls.removeFirst(index + 1)
      return true
    }
  }

  extension ConsumerConfig {
    /// Returns the beginning of the name of a subscription's consumer, to which the mark of the
    /// stream is added. It is equal in all processes that have the group.
    ///
    /// A group has a name and a subject, and both identify it. The name of a consumer may not
    /// contain dots, so the subject is hashed. A subscription without a group has a consumer of its
    /// own.
    static func baseName(_ subject: String, _ group: String?) -> String {
      group.map { "\($0)_\(StreamName.hash(subject))_" }
        ?? "one_\(String(UInt64.random(in: .min ... .max), radix: 36))\(String(UInt64.random(in: .min ... .max), radix: 36))_"
    }

    /// Creates the configuration of the consumer of a subscription.
    ///
    /// The name of the consumer ends with the mark of the stream, and the server writes this name
    /// into the subject for the verdict on each message. So a late verdict on a message of a stream
    /// that was deleted never reaches the stream that was made instead.
    ///
    /// The server deletes the consumer of a subscription without a group when it has been idle for
    /// some time.
    init(
      _ subject: String, _ options: SubscribeOptions, named baseName: String, in facts: StreamAdmin.StreamFacts
    ) {
      self.init(name: baseName + facts.mark, filter: subject, ackWait: StreamAdmin.ackWait.nanoseconds)
      if options.group == nil { inactiveThreshold = StreamAdmin.forgetting.nanoseconds }
      begin(at: options.start)
      fixStart(after: facts.lastPosition)
    }

    /// Returns the configuration for making the consumer again, if the server loses the consumer:
    /// this configuration with another start.
    ///
    /// The start is the position after the last message up to which all messages have a final
    /// verdict. If the answer does not tell this position, the start is the one that the consumer
    /// was made with.
    ///
    /// - Parameter answer: The answer of the server about the consumer.
    func restarted(_ answer: StreamAnswer) -> ConsumerConfig {
      var config = self
      if let position = answer.handledPosition {
        config.begin(at: .position(position &+ 1))
      } else if let found = answer.config, let start = found.start {
        (config.start, config.startPosition, config.startTime) = (start, found.startPosition, found.startTime)
      }
      return config
    }

    /// If the start is `new`, replaces it by the position after the last stored message.
    ///
    /// If the server loses its state of a consumer, the consumer begins again at the configured
    /// start. With `new`, the consumer would then leave out all messages that were stored earlier
    /// and are not handled yet.
    private mutating func fixStart(after lastPosition: UInt64) {
      if start == "new" { begin(at: .position(lastPosition &+ 1)) }
    }

    /// Sets the message with which the consumer starts.
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
