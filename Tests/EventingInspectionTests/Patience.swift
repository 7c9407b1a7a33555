/// The limits for a test that waits by checking a condition again and again: a number of checks,
/// and a time.
///
/// All tests of a process share a few threads, at least two. Beside busy tests, a minute may pass
/// between two checks, and a snapshot of the whole process contains a million handlers of another
/// test. So a wait ends only after both four minutes and 2,000 checks.
struct Patience {
  private let deadline = ContinuousClock.now.advanced(by: .seconds(240))
  private var polls = 2_000

  /// Counts one check of the condition by the waiting test. Returns whether the test may go on
  /// waiting.
  mutating func isLeft() -> Bool {
    polls -= 1
    return polls > 0 || ContinuousClock.now < deadline
  }
}
