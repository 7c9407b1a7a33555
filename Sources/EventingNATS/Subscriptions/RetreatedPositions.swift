#if NATS
  /// The positions of the messages that one subscription returned to the server, and that have no
  /// final verdict of this subscription yet.
  ///
  /// If the server loses the consumer, a new consumer must begin at the smallest of these
  /// positions, or before. If another member of the group has handled a returned message, the
  /// *floor* of the consumer shows this: the position up to which the server has verdicts on all
  /// messages. The new consumer of a group begins at the position after the last known floor of the
  /// lost one, or at a smaller position. So it delivers each message above the floor, even if the
  /// member that returned it has ended.
  struct RetreatedPositions: Sendable {
    /// The largest number of recorded positions. Later ones are not recorded.
    private static let limit = 65_536
    private static let pause = StreamAdmin.ackWait
    private var positions: Set<UInt64> = []
    private var nextQuestion = ContinuousClock.now + pause

    /// The smallest position.
    ///
    /// - Complexity: O(n) for n positions.
    var first: UInt64? { positions.min() }

    mutating func add(_ position: UInt64) {
      if positions.count < RetreatedPositions.limit { positions.insert(position) }
    }

    mutating func remove(_ position: UInt64) {
      if !positions.isEmpty { positions.remove(position) }
    }

    mutating func remove(upTo floor: UInt64) {
      positions = positions.filter { $0 > floor }
    }

    /// Returns whether the server must be asked for the consumer's floor, the position up to which
    /// it has verdicts on all messages. It is asked at most every 10 s. The recorded positions up
    /// to the answered floor are then removed.
    ///
    /// - Parameter isShared: Whether the consumer may have other members. Without them, the floor
    ///   only serves to remove recorded positions, so the server is not asked while none are
    ///   recorded. With them, the floor also decides where a new consumer begins.
    mutating func mustAsk(_ now: ContinuousClock.Instant, isShared: Bool) -> Bool {
      guard isShared || !positions.isEmpty, nextQuestion <= now else { return false }
      nextQuestion = now + RetreatedPositions.pause
      return true
    }
  }
#endif
