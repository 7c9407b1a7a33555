/// What a scenario did over its time, in pieces of a tenth of a second or more.
///
/// The context adds to it between two rounds, when nobody races: so the workers' own figures can be read, and the workers have nothing to do for it.
struct Timeline: Sendable {
  struct Sample: Sendable {
    let time: Span
    let operations: Int
    let deliveries: Int
    let posting: Histogram

    /// So many a second.
    func perSecond(_ number: Int) -> Double { Double(number) / max(Double(time.end - time.start) / 1e9, 1e-9) }
  }

  private(set) var samples: [Sample] = []
  /// Not more than some hundreds in a run, however long it is.
  private let interval: UInt64
  private var before: UInt64
  private var operations = 0
  private var deliveries = 0
  private var posting = Histogram()

  /// It begins now.
  init(of seconds: Double) {
    interval = UInt64(max(0.1, seconds / 600) * 1e9)
    before = Clock.now
  }

  /// Adds what was done since the sample before, if that is long enough ago, or there is none.
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
