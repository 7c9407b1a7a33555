/// The same figures as in the table, for programs. Times are nanoseconds, memory is bytes.
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
    /// By kind.
    let faults: [String: Int]
    let checks: [String: Check]
    let violations: [String]
    let memoryPeak: Int
    let memorySlopePerSecond: Double
    let latencies: [String: Latency]
    let remarks: [String: Int]

    init(_ stage: Stage) {
      name = stage.name
      rounds = stage.rounds.value
      seconds = stage.seconds
      operations = Dictionary(uniqueKeysWithValues: Activity.counted.map { ("\($0)", stage.count($0)) })
      (overlaps, mustDeliver, didDeliver, mayDeliver) = (stage.overlaps, stage.must, stage.did, stage.may)
      faults = Dictionary(uniqueKeysWithValues: Fault.allCases.map { [stage] in ("\($0)", stage.faults.count(of: $0)) })
      let checked = Guarantee.allCases.filter { stage.checks.checkedCount($0) + stage.checks.violatedCount($0) > 0 }
      checks = Dictionary(
        uniqueKeysWithValues: checked.map {
          (
            $0.label,
            Check(title: $0.title, checked: stage.checks.checkedCount($0), violated: stage.checks.violatedCount($0))
          )
        })
      violations = stage.checks.firstMessages
      memoryPeak = stage.memory.peak
      memorySlopePerSecond = stage.memory.slope
      let all = ["post": stage.posting, "send": stage.sending, "isolatedCall": stage.looking]
      latencies = all.compactMapValues(Latency.init)
      remarks = stage.remarks
    }
  }

  let seed: UInt64
  let command: String
  let allHeld: Bool
  let faults: Int
  let canariesAlive: Int
  let scenarios: [Scenario]

  init(_ stages: [Stage], _ options: Options) {
    seed = options.seed
    command = options.commandLine(only: options.scenarioNames)
    allHeld = stages.allSatisfy { $0.checks.violatedCount == 0 }
    faults = stages.reduce(0) { $0 + $1.faults.total }
    canariesAlive = Canary.alive
    scenarios = stages.map(Scenario.init)
  }
}
