extension Buffering {
  /// The decision about an occurrence that comes while others wait.
  enum Decision { case keep, dropIt, dropOldest }

  /// Returns the decision about a new occurrence.
  ///
  /// - Parameters:
  ///   - waiting: The number of occurrences that wait.
  ///   - isSend: Whether a `send` brings the occurrence.
  func decision(waiting: Int, isSend: Bool) -> Decision {
    switch kind {
    case .unbounded: .keep
    case .oldest(let count): waiting < count ? .keep : .dropIt
    case .newest(let count): waiting < count ? .keep : .dropOldest
    case .suspendingSender(let count): waiting < count || isSend ? .keep : .dropIt
    }
  }
}
