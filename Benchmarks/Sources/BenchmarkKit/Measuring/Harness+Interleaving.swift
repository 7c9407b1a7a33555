import CMeasure

extension Harness {
  /// Calibrates each contestant to repeats of about the same length, then interleaves the repeats, so that whatever else the machine
  /// does hits all alike. Reports nanoseconds for an operation; a repeat of `count` operations stands for `count * perOperation`.
  func interleave(
    _ workload: Workload, _ parameter: String, _ contestants: [Contestant], unit: String = "ns", perOperation: Double = 1,
    milliseconds: Double? = nil, rounds wanted: Int? = nil
  ) async {
    guard !contestants.isEmpty else { return }
    let target = (milliseconds ?? configuration.milliseconds) * 1e6
    var counts: [Int] = [], failures: [String?] = []
    for contestant in contestants {
      Watchdog.kick("\(workload.name), \(parameter), \(contestant.label): calibrating")
      let (count, failure) = await calibrate(contestant, target: target * contestant.scale)
      counts.append(count)
      failures.append(failure)
    }
    let rounds = await quietRounds(wanted ?? configuration.rounds) { index -> [Sample?] in
      var samples = [Sample?](repeating: nil, count: contestants.count)
      for k in contestants.indices {
        let i = (k + index) % contestants.count  // each round begins with another one
        if failures[i] != nil { continue }
        Watchdog.kick("\(workload.name), \(parameter), \(contestants[i].label): round \(index)")
        let sample = await contestants[i].run(counts[i])
        failures[i] = sample.failure
        if sample.failure == nil { samples[i] = sample }
      }
      return samples
    }
    announce(rounds, workload, parameter)
    for (i, contestant) in contestants.enumerated() {
      Watchdog.kick("\(workload.name), \(parameter), \(contestant.label): last check")
      let end = await contestant.finish(), operations = Double(counts[i]) * perOperation
      var row = Row(workload, parameter, contestant.peer, label: contestant.label)
      row.unit = unit
      row.batch = counts[i]
      row.noise = median(rounds.noise)
      row.summarise(rounds.outcomes.map { outcome in outcome[i].map { $0.wall / operations } })
      let cpu = rounds.outcomes.compactMap { $0[i]?.cpu }
      if !cpu.isEmpty { row.cpu = median(cpu) / operations }
      row.fail(failures[i] ?? end)
      report.add(row)
    }
  }

  /// Finds the number of operations that takes `target` nanoseconds, and warms up.
  private func calibrate(_ contestant: Contestant, target: Double) async -> (count: Int, failure: String?) {
    if let fixed = contestant.fixed { return (fixed, await contestant.run(fixed).failure) }
    for count in [1, 4, 16] where count <= contestant.maximum {  // one-time costs
      if let failure = await contestant.run(count).failure { return (count, failure) }
    }
    func scaled(_ count: Int, _ factor: Double) -> Int { max(1, min(contestant.maximum, Int(Double(count) * factor))) }
    var count = 1
    while true {
      let sample = await contestant.run(count)
      if let failure = sample.failure { return (count, failure) }
      if sample.wall >= target * 0.25 || count >= contestant.maximum {
        count = scaled(count, target / max(sample.wall, 1))
        break
      }
      count = min(contestant.maximum, count * (sample.wall < target * 0.02 ? 8 : 2))
    }
    let warm = await contestant.run(count)  // again, on warm code
    count = scaled(count, min(64, target / max(warm.wall, 1)))
    for _ in 0..<2 {
      if let failure = await contestant.run(count).failure { return (count, failure) }
    }
    return (count, warm.failure)
  }
}
