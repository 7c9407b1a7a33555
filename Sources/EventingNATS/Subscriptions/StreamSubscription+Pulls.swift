#if NATS
  import Eventing
  import EventingTransport

  /// No message, but an answer of the server to a pull.
  enum PullAnswer: Equatable {
    /// The time has passed, or there is no message.
    case over
    case noConsumer
    /// All pulls end, for a passing reason.
    case passing
    /// The server allows at most this number of messages in one pull.
    case most(Int)
    /// The server allows at most this time for one pull.
    case longest(Duration)
    case unknown

    init(_ status: Int, _ text: String) {
      switch status {
      case 404, 408: self = .over
      case 503: self = .noConsumer
      case 409:
        if let limit = text.firstMatch(of: /MaxRequestBatch of (\d+)/).flatMap({ Int($0.1) }), limit > 0 {
          self = .most(limit)
        } else if let limit = text.firstMatch(of: /MaxRequestExpires of (.+)$/).flatMap({ PullAnswer.time($0.1) }) {
          self = .longest(limit)
        } else if text.contains("Consumer") {
          self = .noConsumer
        } else {
          let isKnown = ["Leadership Change", "Server Shutdown", "Batch Completed"].contains { text.contains($0) }
          self = isKnown ? .passing : .unknown
        }
      default: self = .unknown
      }
    }

    /// Parses a duration such as `1m30s` or `500ms`. Returns `nil` unless it is above zero.
    private static func time(_ text: Substring) -> Duration? {
      let units: [Substring: Double] = ["h": 3_600, "m": 60, "s": 1, "ms": 1e-3, "µs": 1e-6, "us": 1e-6, "ns": 1e-9]
      let seconds = text.matches(of: /(\d+(?:\.\d+)?)([a-zµ]+)/).reduce(0.0) { sum, match in
        sum + (Double(match.1) ?? 0) * (units[match.2] ?? 0)
      }
      return seconds > 0 && seconds < 1e6 ? .seconds(seconds) : nil
    }
  }

  // Requests messages from the server, and handles what the server says about the requests.
  extension StreamSubscription {
    func receive(_ status: Int, _ arrival: Arrival) {
      let token = UInt64(arrival.subject.dropFirst(inbox.count + 1)) ?? 0
      let unsent = arrival.headers[MessageHeader.unsent].flatMap { Int($0) }
      let text = arrival.headers[MessageHeader.description] ?? ""
      let answer = PullAnswer(status, text)
      let mustTell = state.withLock { state in
        switch answer {
        case .over:
          if let unsent { state.pulls.end(token, unsent: unsent) } else { state.pulls.end(token) }
          return false
        case .most(let limit):
          state.pulls.most = limit
          state.pulls.end(token)
        case .longest(let limit):
          state.pulls.time = limit
          state.pulls.end(token)
        case .noConsumer, .passing, .unknown:
          state.pulls.endAll()
          state.pausedUntil = .now + (answer == .unknown ? .seconds(1) : .milliseconds(200))
          if answer != .unknown { return false }
        }
        return state.reportedTexts.count < 32 && state.reportedTexts.insert("\(status) \(text)").inserted
      }
      if mustTell {
        let reason = "expected messages of the server for a request; it says: \(quoted(text)) (\(status))"
        engine.incidents.post(
          TransportIncident(kind: .refused, subject: filter, event: filter, stream: streamName, reason: reason))
      }
      if answer == .noConsumer { beginRestoring() }
      wake()
    }

    func lookedReady(_ isReady: Bool) {
      guard inflow.isOpen else { return }
      if !isReady {
        let hasPulls = state.withLock { state in
          state.isReady = false
          return !state.pulls.isEmpty
        }
        // If messages are returned while a pull is open, the server delivers them to this pull at
        // once. So they are returned only after the pull has ended, which takes at most
        // ``StreamPulls/expiry``.
        guard !hasPulls else { return }
        let waiting = inflow.settleWaiting()
        giveBackInOrder(waiting)
        for item in waiting { inflow.finish(item) }
        return
      }
      guard engine.isConnected else { return }
      let (count, now) = (inflow.count, ContinuousClock.now)
      let pull = state.withLock { state in
        state.isReady = true
        return state.pausedUntil <= now && !state.isRestoring && state.returning == 0
          ? state.pulls.begin(room: options.inFlight - count, of: options.inFlight, now) : nil
      }
      if let pull { send(pull) }
    }

    func send(_ pull: (token: UInt64, batch: Int, time: Duration)) {
      var message = Outgoing(
        subject: "$JS.API.CONSUMER.MSG.NEXT.\(stream.name).\(config.name)", reply: "\(inbox).\(pull.token)",
        body: Array("{\"batch\":\(pull.batch),\"expires\":\(pull.time.nanoseconds)}".utf8))
      message.isSent = { [state] reason in
        if reason != nil { state.withLock { $0.pulls.end(pull.token) } }  // the next tick pulls again
      }
      // If the pull was given up while it waited for the connection, it is not sent.
      message.isNeeded = { [state] in state.withLock { $0.pulls.isOpen(pull.token) } }
      engine.sendQueue.send(message)
    }
  }
#endif
