import CMeasure

/// The rounds whose samples are used, with the load of other processes during each of them.
struct QuietRounds<Outcome> {
  var outcomes: [Outcome] = []
  /// For each round in `outcomes`, the share of one processor core that other processes took
  /// meanwhile.
  var noise: [Double] = []
  /// The number of rounds that were run.
  var total = 0
}

extension Harness {
  /// Repeats a round until `wanted` rounds were quiet. Returns the `wanted` rounds during which
  /// other processes took the least CPU time.
  ///
  /// A round is quiet if the load of other processes is below `Configuration.quietLoad`. Before
  /// each window of rounds, the harness waits for the load to fall. If `configuration.patience`
  /// runs out, or `4 * wanted` rounds have been run, the result has rounds that were not quiet.
  ///
  /// /proc/stat counts in ticks of 10 ms. So the load is measured over windows of at least 200 ms:
  /// rounds begin until that time has passed.
  func quietRounds<Outcome>(_ wanted: Int, round: (_ index: Int) async -> Outcome) async -> QuietRounds<Outcome> {
    var all: [(outcome: Outcome, noise: Double)] = [],
      patience = configuration.isQuick ? 0 : configuration.patience * 1e9

    func isMissingQuietOnes() -> Bool {
      patience > 0 && all.count < 4 * wanted && all.lazy.filter { $0.noise < Configuration.quietLoad }.count < wanted
    }
    while all.count < wanted || isMissingQuietOnes() {
      if patience > 0 { patience -= SystemLoad.waitForQuiet(limit: min(patience, 5e9)) }
      let before = SystemLoad.now(), firstOfWindow = all.count
      repeat { all.append((await round(all.count), 0)) } while before.nanoseconds(until: .now()) < 2e8
      let after = SystemLoad.now(), noise = before.others(until: after)
      for i in firstOfWindow..<all.count { all[i].noise = noise }
      if noise >= Configuration.quietLoad { patience -= before.nanoseconds(until: after) }
    }
    let kept = all.sorted { $0.noise < $1.noise }.prefix(wanted)
    return QuietRounds(outcomes: kept.map(\.outcome), noise: kept.map(\.noise), total: all.count)
  }

  /// Prints how many rounds were run, and how many of them the figures use. Also prints how many
  /// cores other processes took during the rounds that the figures use.
  func announce<Outcome>(_ rounds: QuietRounds<Outcome>, _ workload: Workload, _ parameter: String) {
    let noise = [median(rounds.noise), rounds.noise.max() ?? 0].map { "\(Double(Int($0 * 1_000)) / 1_000)" }
    report.say(
      "# \(workload.name), \(parameter): \(rounds.total) rounds run, \(rounds.outcomes.count) counted; "
        + "cores that other processes took in these: median \(noise[0]), maximum \(noise[1])")
  }
}
