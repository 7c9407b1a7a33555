import Eventing
import Synchronization

/// Sends to a handler with the sender as key. Calls for one sender come in order, one at a time.
/// Calls for different senders may overlap (guarantee H7 of PROOF.md).
struct OrderByKey: Scenario {
  static let name = "bykey"
  static let summary = "calls of one key in order, one at a time; of several keys at once"

  func round(_ context: ScenarioContext) async {
    let (trial, canary) = (Trial(context), Canary(.handler))
    let handlerLog = HandlerLog(.concurrent, trial.checks)
    let keys = (0..<64).map { _ in Key() }
    handlerLog.fate = context.makeFate()
    handlerLog.adding = .open
    handlerLog.token = trial.event.add(
      Handler(.inOrder(by: \.senderLog), on: .concurrent(limit: HandlerPlace.limit)) { payload async throws in
        let key = keys[Int(payload.senderLog) % 64]
        key.begin(payload, handlerLog.checks)
        defer { key.end() }
        try await handlerLog.call(payload, canary, pausing: true)
      })
    handlerLog.adding.finish()
    trial.extraHandlerLogs.append(handlerLog)
    await context.race(steps: 120) { worker in
      if worker.random.oneIn(4) { worker.submit(to: trial.event) } else { worker.post(to: trial.event) }
    } inTask: { worker in
      if worker.random.oneIn(6) { await worker.send(to: trial.event) } else { worker.post(to: trial.event) }
    }
    await trial.finish()
  }

  /// The calls of one key.
  private final class Key: Sendable {
    private let running = Atomic<Int>(0)
    private let last = Atomic<Int32>(-1)

    func begin(_ payload: StressPayload, _ checks: Checks) {
      let others = running.wrappingAdd(1, ordering: .relaxed).oldValue
      checks.expect(.g13, others == 0, "calls for key \(payload.senderLog) overlap")
      let before = last.exchange(payload.index, ordering: .relaxed)
      checks.expect(.g13, before < payload.index, "key \(payload.senderLog): \(payload.index) came after \(before)")
    }
    func end() { running.wrappingSubtract(1, ordering: .relaxed) }
  }
}
