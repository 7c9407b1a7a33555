#if NATS
  /// Messages that were returned to the server, and have no final verdict (done or reject) here
  /// since.
  ///
  /// If the server loses the consumer, a new one must begin at the smallest of these positions, or
  /// before. Another member of the group may have handled some, which the consumer's *floor* shows,
  /// the position up to which the server has final verdicts. Positions up to the floor are removed
  /// here.
  ///
  /// A member that returned messages may have ended, and its positions are lost. So the new
  /// consumer of a group begins after the last known floor, or before.
  struct RetreatedPositions: Sendable {
    /// Beyond this limit, only the smallest position is recorded.
    static let limit = 65_536
    private static let pause = StreamAdmin.ackWait
    private var positions: Set<UInt64> = []
    /// The smallest position without room in ``positions``, or one before it.
    private var further: UInt64?
    private var nextQuestion = ContinuousClock.now + pause

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

    /// The server is asked for the floor at most every 10 s. The caller then removes the positions
    /// up to it.
    ///
    /// - Parameter isShared: The consumer may have other members. The server is then asked even if
    ///   no position is recorded: the floor decides where a new consumer begins.
    mutating func mustAsk(_ now: ContinuousClock.Instant, isShared: Bool) -> Bool {
      guard isShared || !positions.isEmpty || further != nil, nextQuestion <= now else { return false }
      nextQuestion = now + RetreatedPositions.pause
      return true
    }
  }
#endif
