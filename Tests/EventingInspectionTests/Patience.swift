/// A limit for polling, in polls and in time.
///
/// All tests of a process share a few threads, at least two. Beside busy tests, a minute may pass
/// between two polls, and a snapshot of the whole process contains a million handlers of another
/// test. So a wait ends only after both four minutes and 2,000 polls.
struct Patience {
  private let deadline = ContinuousClock.now.advanced(by: .seconds(240))
  private var polls = 2_000

  /// Counts a poll. Returns whether the wait may go on.
  mutating func isLeft() -> Bool {
    polls -= 1
    return polls > 0 || ContinuousClock.now < deadline
  }
}
