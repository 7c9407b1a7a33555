import Eventing
import Synchronization
import Testing

/// Tests of histories: random operations of several threads on one event (G1 to G9, G21).
///
/// For each history there must be an order in which a sequential event gives all results of the
/// history. The guarantees imply that such an order exists. The search for the order uses no
/// guarantee.
@Suite(.serialized, .fewAtATime) struct HistoryTests {
  /// The results of a number of histories.
  struct HistoryCounts: Sendable {
    var judged = 0
    /// The number of histories without an overlap, which prove nothing.
    var sequential = 0
    var overlaps = 0
    var operations = 0
    var undecided = 0
    var failed: [String] = []
  }

  @Test(arguments: [2, 3, 4]) func everyHistoryIsThatOfASequentialEvent(threads: Int) async {
    let outcome = await HistoryTests.outcome(of: 400, threads: threads)
    #expect(outcome.failed.isEmpty, "\(outcome.failed.first ?? "")")
    #expect(outcome.undecided * 100 < outcome.judged, "the search gave \(outcome.undecided) up")
    #expect(
      outcome.judged >= 100 && outcome.overlaps >= outcome.judged,
      "\(outcome.judged) histories, \(outcome.overlaps) overlaps")
    print(
      "histories on \(threads) threads: \(outcome.judged) judged, \(outcome.operations) operations, \(outcome.overlaps) overlapping pairs,",
      "\(outcome.sequential) more had none, the search gave \(outcome.undecided) up")
  }

  /// Makes histories until `count` of them had an overlap, or until one has no sequential order.
  static func outcome(of count: Int, threads: Int, first: UInt64 = .random(in: 1...UInt64(UInt32.max))) async
    -> HistoryCounts
  {
    let outcome = ConditionLock(HistoryCounts())
    let last = ConditionLock<History?>(nil)
    await inRounds(
      threads, least: 0, until: { outcome.withLock { $0.judged >= count || !$0.failed.isEmpty } },
      prepare: {
        last.withLock { $0 }.map { judge($0, outcome) }
        let history = History(seed: first &+ outcome.withLock { UInt64($0.judged + $0.sequential) }, threads: threads)
        last.withLock { $0 = history }
        return history
      }, { thread, history in history.run(thread, steps: 18 / threads) })
    return outcome.withLock { $0 }
  }

  private static func judge(_ history: History, _ outcome: ConditionLock<HistoryCounts>) {
    let operations = history.finish()
    let overlaps = operations.indices.reduce(0) { sum, index in
      sum + operations[(index + 1)...].count { operations[index].overlaps($0) }
    }
    guard overlaps > 0 else { return outcome.withLock { $0.sequential += 1 } }
    let verdict = Linearizability.judge(operations)
    outcome.withLock { outcome in
      outcome.judged += 1
      outcome.overlaps += overlaps
      outcome.operations += operations.count
      switch verdict {
      case .linearizable: break
      case .undecided: outcome.undecided += 1
      case .not(let remaining, let event):
        outcome.failed.append(
          """
          no order of one thing after the other explains this (seed \(history.seed)):
          \(operations.sorted { $0.start < $1.start }.map { "  \($0)" }.joined(separator: "\n"))
          The longest way ended before:
          \(remaining.map { "  \($0)" }.joined(separator: "\n"))
          with \(event)
          """)
      }
    }
  }
}
