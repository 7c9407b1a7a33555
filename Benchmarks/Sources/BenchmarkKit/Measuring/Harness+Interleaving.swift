import CMeasure

extension Harness {
  /// Measures the contestants, which are the peers of one table. A repeat is one call of a
  /// contestant's `run`.
  ///
  /// First chooses each contestant's number of operations so that a repeat takes the intended time.
  /// Then interleaves the repeats, so that other load on the machine slows all contestants alike.
  ///
  /// Adds a row for each contestant, in nanoseconds per operation.
  ///
  /// - Parameter perOperation: The number of reported operations in one operation of a contestant's
  ///   `run`. For example, one operation of the workload `contention` is a send by each sender.
  func interleave(
    _ workload: Workload, _ parameter: String, _ contestants: [Contestant], unit: String = "ns",
    perOperation: Double = 1,
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
        let i = (k + index) % contestants.count  // the contestants take turns to begin a round
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

  /// Warms up a contestant, which is one peer of the table.
  ///
  /// - Returns: The number of operations that take about `target` nanoseconds, or the number that
  ///   the workload fixes; and a description of a fault, or nil.
  private func calibrate(_ contestant: Contestant, target: Double) async -> (count: Int, failure: String?) {
    if let fixed = contestant.fixed { return (fixed, await contestant.run(fixed).failure) }
    for count in [1, 4, 16] where count <= contestant.maximum {  // pays the one-time costs
      if let failure = await contestant.run(count).failure { return (count, failure) }
    }
    var count = 1
    while true {
      let first = await contestant.run(count), second = await contestant.run(count)
      if let failure = first.failure ?? second.failure { return (count, failure) }
      let factor = target / max(min(first.wall, second.wall), 1)  // the slower run may have been interrupted
      if count == contestant.maximum && factor > 1 { return (count, nil) }
      if factor < 1.5 { return (max(1, Int(Double(count) * factor)), nil) }
      count = min(contestant.maximum, Int((Double(count) * min(8, factor)).rounded(.up)))
    }
  }
}
