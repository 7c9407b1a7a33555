/// A limit for polling, in polls and in time.
///
/// All tests of a process share a few threads, at least two. Beside busy tests, a minute may pass
/// between two polls. So a wait ends only after both a minute and 2,000 polls.
struct Patience {
  private let deadline = ContinuousClock.now.advanced(by: .seconds(60))
  private var polls = 2_000

  /// Counts a poll. Returns whether the wait may go on.
  mutating func isLeft() -> Bool {
    polls -= 1
    return polls > 0 || ContinuousClock.now < deadline
  }
}
