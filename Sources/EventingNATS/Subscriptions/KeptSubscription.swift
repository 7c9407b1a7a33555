#if NATS
  import Eventing
  import EventingTransport

  /// Outlives the connections of libnats, and a permission that the server takes away for a time:
  /// the engine then makes a new subscription of libnats.
  final class KeptSubscription: Sendable {
    private struct State: Sendable {
      var library: LibrarySubscription?
      /// Called with one message at a time; `nil` after the end.
      var receive: (@Sendable (Arrival) -> Void)?
      /// Counts drops by earlier subscriptions of libnats.
      var dropped = 0
      var nextAttempt: ContinuousClock.Instant?
      /// The pause before the attempt after the next one.
      var pause = KeptSubscription.shortestPause
      /// An incident has reported the server's refusal.
      var isReported = false
    }

    private static let shortestPause = Duration.seconds(1)
    private static let longestPause = Duration.seconds(5)
    let subject: String
    private let group: String?
    private let bufferLimit: Int?
    private let ended: @Sendable (KeptSubscription) -> Void
    private let state: Guarded<State>

    /// - Parameter ended: Called when the end begins.
    init(
      _ subject: String, group: String?, limit: Int?, _ receive: @escaping @Sendable (Arrival) -> Void,
      ended: @escaping @Sendable (KeptSubscription) -> Void
    ) {
      self.ended = ended
      (self.subject, self.group, bufferLimit) = (subject, group, limit)
      state = Guarded(State(receive: receive))
    }

    var dropped: Int {
      let (library, before) = state.withLock { ($0.library, $0.dropped) }
      return before + (library?.dropped ?? 0)
    }

    var limit: Int? { state.withLock { $0.library }?.limit }

    var nextAttempt: ContinuousClock.Instant? { state.withLock { $0.nextAttempt } }

    /// Blocks until the server has taken the subscription. The old one has ended then.
    func begin(on connection: LibraryConnection, within wait: Duration = .seconds(3)) throws {
      let old = state.withLock { state in
        defer { state.library = nil }
        return state.library
      }
      if let old {
        let dropped = old.dropped
        state.withLock { $0.dropped += dropped }
        old.end()
      }
      guard let receive = state.withLock({ $0.receive }) else { return }
      let library = try connection.subscribe(subject, group: group, limit: bufferLimit, within: wait, receive)
      let isWanted = state.withLock { state in
        guard state.receive != nil else { return false }
        (state.library, state.nextAttempt, state.pause) = (library, nil, KeptSubscription.shortestPause)
        state.isReported = false
        return true
      }
      if !isWanted { library.end() }
    }

    /// The subscription was lost with its connection, and must be recreated at once.
    func lost() { state.withLock { if $0.receive != nil, $0.nextAttempt == nil { $0.nextAttempt = .now } } }

    /// The subscription is retried after a pause. Returns whether the refusal is new.
    func refused() -> Bool {
      state.withLock { state in
        guard state.receive != nil else { return false }
        state.nextAttempt = .now + state.pause
        state.pause = min(state.pause * 2, KeptSubscription.longestPause)
        defer { state.isReported = true }
        return !state.isReported
      }
    }

    var isRefused: Bool { state.withLock { $0.isReported } }

    func end(_ next: @escaping @Sendable () -> Void = {}, delivered: @escaping @Sendable () -> Void = {}) {
      let (library, receive) = forget()
      withExtendedLifetime(receive) {}
      if let library { return library.end(next, delivered: delivered) }
      next()
      delivered()
    }

    func end(
      waitingUntil end: ContinuousClock.Instant, delivered: @escaping @Sendable () -> Void = {}
    ) async {
      let (library, receive) = forget()
      withExtendedLifetime(receive) {}
      if let library { return await library.end(waitingUntil: end, delivered: delivered) }
      delivered()
    }

    private func forget() -> (LibrarySubscription?, (@Sendable (Arrival) -> Void)?) {
      ended(self)
      return state.withLock { state in
        defer { (state.receive, state.nextAttempt) = (nil, nil) }
        return (state.library, state.receive)
      }
    }
  }
#endif
