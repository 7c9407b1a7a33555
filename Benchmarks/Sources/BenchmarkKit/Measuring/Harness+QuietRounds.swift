import CMeasure

/// Rounds that count, and what others took of a core while they ran.
struct QuietRounds<Outcome> {
  var outcomes: [Outcome] = []
  var noise: [Double] = []
  /// Rounds that were run.
  var total = 0
}

extension Harness {
  /// Repeats a round until `wanted` quiet ones are in, waits for the machine to become quiet before each, and gives back the quietest.
  ///
  /// When the patience is at an end the noisy ones count, too. /proc/stat counts in ticks of 10 ms; so windows of at least 200 ms, with
  /// as many rounds as fit, are judged.
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

  /// Says how quiet it was.
  func announce<Outcome>(_ rounds: QuietRounds<Outcome>, _ workload: Workload, _ parameter: String) {
    let noise = [median(rounds.noise), rounds.noise.max() ?? 0].map { "\(Double(Int($0 * 1_000)) / 1_000)" }
    report.say(
      "# \(workload.name), \(parameter): \(rounds.total) rounds, kept \(rounds.outcomes.count); "
        + "others took of a core in those: median \(noise[0]), at most \(noise[1])")
  }
}
