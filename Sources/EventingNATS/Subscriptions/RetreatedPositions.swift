#if NATS
  /// The positions of the messages that one subscription returned to the server for redelivery, and
  /// on which it has given no final verdict (done or reject) since.
  ///
  /// If the server loses the consumer, a new consumer must begin at the smallest of these
  /// positions, or before, so that it delivers these messages. Another member of the group may have
  /// handled some of them. The *floor* of the consumer shows this: the position up to which the
  /// server has final verdicts on all messages. Positions up to the floor are removed here.
  ///
  /// A member that returned messages may have ended, and then its positions are lost. So the new
  /// consumer of a group begins at the position after the last known floor of the lost consumer, or
  /// before. All messages without a final verdict are above that floor.
  struct RetreatedPositions: Sendable {
    /// The largest number of recorded positions. Of further ones, only the smallest is.
    static let limit = 65_536
    private static let pause = StreamAdmin.ackWait
    private var positions: Set<UInt64> = []
    /// The smallest position that had no room in ``positions``, or one before it.
    private var further: UInt64?
    private var nextQuestion = ContinuousClock.now + pause

    /// The smallest position.
    ///
    /// - Complexity: O(n) for n positions.
    var first: UInt64? { [positions.min(), further].compactMap(\.self).min() }

    mutating func add(_ position: UInt64) {
      if positions.count < RetreatedPositions.limit || positions.contains(position) {
        positions.insert(position)
      } else {
        further = min(further ?? .max, position)
      }
    }

    mutating func remove(_ position: UInt64) {
      if !positions.isEmpty { positions.remove(position) }
    }

    mutating func remove(upTo floor: UInt64) {
      positions = positions.filter { $0 > floor }
      if let position = further, position <= floor { further = floor &+ 1 }
    }

    /// Returns whether the server must be asked for the consumer's floor, the position up to which
    /// it has final verdicts on all messages. It is asked at most every 10 s. The caller then
    /// removes the recorded positions up to that floor: those of messages that this subscription
    /// returned to the server.
    ///
    /// - Parameter isShared: Whether the consumer may have other members. If it has none, the floor
    ///   only serves to remove recorded positions, and the server is not asked while no position is
    ///   recorded. If it may have others, the server is asked even then, because the floor also
    ///   decides where a new consumer begins.
    mutating func mustAsk(_ now: ContinuousClock.Instant, isShared: Bool) -> Bool {
      guard isShared || !positions.isEmpty || further != nil, nextQuestion <= now else { return false }
      nextQuestion = now + RetreatedPositions.pause
      return true
    }
  }
#endif
