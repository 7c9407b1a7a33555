import Eventing
import Synchronization

/// Posts to throttled and debounced handlers. The occurrences that they leave out are counted, the
/// order stays, and the last occurrence is delivered (guarantee H6 of PROOF.md).
struct Pacing: Scenario {
  static let name = "pace"
  static let summary = "throttled and debounced handlers: all is counted, and the last is delivered"

  func round(_ context: ScenarioContext) async {
    let (trial, paced) = (Trial(context), Event<Int>("paced"))
    context.watch(paced)
    let posted = Counter()
    // All workers post to the trial's event at the same time. An inline handler of that event, the
    // witness, counts its calls and posts the count to `paced`. Its calls do not overlap, so
    // `paced` gets 1, 2, 3 and so on, in this order.
    trial.witness.reaction = { _ in
      posted.add()
      paced.post(posted.value)
    }
    let calls = [Calls(), Calls(), Calls()]
    paced.addHandler(.throttled(every: .microseconds(500))) { calls[0].note($0, context.checks) }
    paced.addHandler(.debounced(for: .microseconds(200)), on: .background) { calls[1].note($0, context.checks) }
    paced.add(
      Handler(.debounced(for: .microseconds(200), atMost: .milliseconds(1))) { payload async throws in
        calls[2].note(payload, context.checks)
      })
    await context.race(steps: 120) { worker in worker.post(to: trial.event) }
    await trial.finish()
    await paced.quiesce()
    for (number, handler) in await paced.handlers().enumerated() {
      let sum = handler.callCount + handler.droppedCount
      context.checks.expect(
        .g21, sum == posted.value, "handler \(number) counts \(sum) of \(posted.value) occurrences: \(handler)")
      context.checks.expect(
        .g21, calls[number].last == posted.value,
        "handler \(number) got \(calls[number].last) last, not \(posted.value)")
    }
  }

  /// The calls of one handler.
  private final class Calls: Sendable {
    private let latest = Atomic<Int>(0)

    var last: Int { latest.load(ordering: .acquiring) }

    func note(_ payload: Int, _ checks: Checks) {
      let before = latest.exchange(payload, ordering: .acquiringAndReleasing)
      checks.expect(.g13, before < payload, "\(payload) came after \(before)")
    }
  }
}
