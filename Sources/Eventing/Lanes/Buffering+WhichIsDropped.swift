extension Buffering {
  /// Whether a lane keeps a new occurrence, drops it, or keeps it and drops the oldest occurrence
  /// that waits.
  enum Decision { case keep, dropIt, dropOldest }

  /// Returns what a lane or a sequence does with a new occurrence.
  ///
  /// - Parameters:
  ///   - waiting: The number of occurrences that wait already.
  ///   - isSend: Whether a `send` brings the occurrence.
  func decision(waiting: Int, isSend: Bool) -> Decision {
    switch kind {
    case .unbounded: .keep
    case .oldest(let count): waiting < count ? .keep : .dropIt
    case .newest(let count): waiting < count ? .keep : .dropOldest
    case .suspendingSender(let count): waiting < count || isSend ? .keep : .dropIt
    case .paced: waiting < 1 ? .keep : .dropOldest
    }
  }

  /// Returns what a lane does with a new occurrence. Isolation: core.
  ///
  /// - Parameters:
  ///   - waiting: The number of occurrences that wait on the lane already.
  ///   - completion: The completion of the new occurrence, if it has one.
  func decision(waiting: Int, _ completion: Completion?) -> Decision {
    if case .paced = kind, unsafe completion?.needsNoRoom == true { return .keep }
    return decision(waiting: waiting, isSend: completion?.isSend == true)
  }
}
