/// Samples of the activity of a scenario, each of 0.1 s or more.
///
/// The context adds samples between two rounds, when no worker runs. So the timeline can read the
/// workers' own figures, and sampling costs the workers no time.
struct Timeline: Sendable {
  struct Sample: Sendable {
    let time: Span
    let operations: Int
    let deliveries: Int
    let posting: Histogram

    /// Returns a count of this sample as a rate per second.
    func perSecond(_ number: Int) -> Double { Double(number) / max(Double(time.end - time.start) / 1e9, 1e-9) }
  }

  private(set) var samples: [Sample] = []
  /// The least duration of a sample, in nanoseconds. It allows at most 600 samples in a run.
  private let interval: UInt64
  private var before: UInt64
  private var operations = 0
  private var deliveries = 0
  private var posting = Histogram()

  /// Creates a timeline that begins now.
  ///
  /// - Parameter seconds: The duration of the whole run.
  init(of seconds: Double) {
    interval = UInt64(max(0.1, seconds / 600) * 1e9)
    before = Clock.now
  }

  /// Adds a sample of the time since the previous one, if at least `interval` has passed.
  ///
  /// - Parameter isLast: Whether the scenario has ended. Then a sample is added even before
  ///   `interval` has passed, if the timeline has none yet.
  mutating func take(_ context: ScenarioContext, isLast: Bool) {
    let now = Clock.now
    guard now - before >= interval || (isLast && samples.isEmpty) else { return }
    let (operations, deliveries, posting) = (context.operations, context.did, context.posting)
    samples.append(
      Sample(
        time: Span(start: before, end: now), operations: operations - self.operations,
        deliveries: deliveries - self.deliveries,
        posting: posting.since(self.posting)))
    (before, self.operations, self.deliveries, self.posting) = (now, operations, deliveries, posting)
  }
}
