import Eventing

/// Lets all workers increment two values, while handlers of their combination are added and
/// removed.
///
/// The increments of both values have one common order (G1): each pair differs from the pair before
/// by one increment of one value. A new handler begins with the current pair (G6), and no handler
/// misses an increment (G21).
struct Combining: Scenario {
  static let name = "combined"
  static let summary = "all workers set two values: their combination has every pair that was, and no other"

  /// A handler of the combination, and the pairs that it received.
  // Safe: the handler is called one call at a time. The scenario reads when no handler runs.
  final class Pairs: @unchecked Sendable {
    let checks: Checks
    private let canary = Canary(.handler)
    private(set) var last: (Int, Int)?
    private(set) var count = 0
    /// The values before the handler was added.
    private let before: (Int, Int)
    var token: HandlerToken?

    init(_ checks: Checks, after before: (Int, Int) = (0, 0)) { (self.checks, self.before) = (checks, before) }

    func take(_ pair: (Int, Int)) {
      if let last {
        let isStep = pair == (last.0 + 1, last.1) || pair == (last.0, last.1 + 1)
        checks.expect(.g1, isStep && canary.isAlive, "the pair \(pair) after \(last)")
      } else {
        checks.expect(.g6, pair.0 >= before.0 && pair.1 >= before.1, "\(pair) is the first pair, after \(before)")
      }
      last = pair
      count += 1
    }
  }

  func round(_ context: ScenarioContext) async {
    let (first, second) = (Observed(0), Observed(0))
    let both = first.combineLatest(second)
    func added(_ number: Int) -> Pairs {
      let pairs = Pairs(context.checks)
      switch number % 3 {
      case 0: pairs.token = both.addHandler { pairs.take($0) }
      case 1: pairs.token = both.addHandler(on: .background) { pairs.take($0) }
      default: pairs.token = both.addHandler { (pair: (Int, Int)) async in pairs.take(pair) }
      }
      return pairs
    }
    let all = (0..<3).map(added)
    @Sendable func step(_ worker: Worker) {
      switch worker.random.below(8) {
      case 0:
        worker.action(.add) {
          let pairs = Pairs(context.checks, after: (first.value, second.value))
          both.remove(both.addHandler(on: .background) { pairs.take($0) })
        }
      case 1..<5: worker.action(.post) { first.update { $0 += 1 } }
      default: worker.action(.post) { second.update { $0 += 1 } }
      }
    }
    await context.race(steps: 200, step) { worker in
      step(worker)
      if worker.random.oneIn(24) { await worker.awaiting { await first.quiesce() } }
    }
    context.director.begin(.quiesce)
    for value in [first, second, first, second] { await value.quiesce() }
    context.director.begin(.verify)
    let end = (first.value, second.value)
    for pairs in all {
      let isWhole = pairs.last.map { $0 == end } == true && pairs.count == end.0 + end.1 + 1
      context.checks.expect(
        .g21, isWhole, "\(pairs.count) pairs, the last \(String(describing: pairs.last)), for the values \(end)")
      if let token = pairs.token { both.remove(token) }
    }
    context.countOverlaps()
  }
}
