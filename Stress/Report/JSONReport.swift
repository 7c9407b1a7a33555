/// The figures of the table, for programs. Times are in nanoseconds, memory is in bytes.
struct JSONReport: Encodable {
  struct Latency: Encodable {
    let count: Int
    let p50, p99, max: UInt64

    init?(_ histogram: Histogram) {
      guard histogram.count > 0 else { return nil }
      count = histogram.count
      p50 = histogram.quantile(0.5) ?? 0
      p99 = histogram.quantile(0.99) ?? 0
      max = histogram.max
    }
  }

  struct Check: Encodable {
    let title: String
    let checked, violated: Int
  }

  struct Scenario: Encodable {
    let name: String
    let rounds: Int
    let seconds: Double
    let operations: [String: Int]
    let overlaps, mustDeliver, didDeliver, mayDeliver: Int
    /// The number of injected faults, by kind.
    let faults: [String: Int]
    let checks: [String: Check]
    let violations: [String]
    let memoryPeak: Int
    let memorySlopePerSecond: Double
    let latencies: [String: Latency]
    let remarks: [String: Int]

    init(_ context: ScenarioContext) {
      name = context.name
      rounds = context.rounds.value
      seconds = context.seconds
      operations = Dictionary(uniqueKeysWithValues: Activity.counted.map { ("\($0)", context.count($0)) })
      (overlaps, mustDeliver, didDeliver, mayDeliver) = (context.overlaps, context.must, context.did, context.may)
      faults = Dictionary(
        uniqueKeysWithValues: Fault.allCases.map { [context] in ("\($0)", context.faults.count(of: $0)) })
      let checked = Guarantee.allCases.filter { context.checks.checkedCount($0) + context.checks.violatedCount($0) > 0 }
      checks = Dictionary(
        uniqueKeysWithValues: checked.map {
          (
            $0.label,
            Check(title: $0.title, checked: context.checks.checkedCount($0), violated: context.checks.violatedCount($0))
          )
        })
      violations = context.checks.firstMessages
      memoryPeak = context.memory.peak
      memorySlopePerSecond = context.memory.slope
      let all = ["post": context.posting, "send": context.sending, "isolatedCall": context.looking]
      latencies = all.compactMapValues(Latency.init)
      remarks = context.remarks
    }
  }

  let seed: UInt64
  let command: String
  let allHeld: Bool
  let faults: Int
  let canariesAlive: Int
  let scenarios: [Scenario]

  init(_ contexts: [ScenarioContext], _ options: Options) {
    seed = options.seed
    command = options.commandLine(only: options.scenarioNames)
    allHeld = contexts.allSatisfy { $0.checks.violatedCount == 0 }
    faults = contexts.reduce(0) { $0 + $1.faults.total }
    canariesAlive = Canary.alive
    scenarios = contexts.map(Scenario.init)
  }
}
