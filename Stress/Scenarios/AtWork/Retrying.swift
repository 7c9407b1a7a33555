import Eventing
import Foundation

/// Sends to handlers whose first attempt often fails. Unless a fault is injected, each handler
/// succeeds once with each occurrence. In-order handlers keep the order. A `send` waits for the
/// last attempt (guarantees H1 and H2 of PROOF.md).
struct Retrying: Scenario {
  static let name = "retry"
  static let summary = "handlers that are tried again keep their order, and are awaited"

  private struct FirstAttempt: Error {}

  func round(_ context: ScenarioContext) async {
    let trial = Trial(context)
    for place in [HandlerPlace.inOrder, .background, .concurrent, .task] { add(place, to: trial) }
    await context.race(steps: 100) { worker in
      if worker.random.oneIn(4) { worker.submit(to: trial.event) } else { worker.post(to: trial.event) }
    } inTask: { worker in
      if worker.random.oneIn(6) { await worker.send(to: trial.event) } else { worker.post(to: trial.event) }
    }
    await trial.finish()
  }

  private func add(_ place: HandlerPlace, to trial: Trial) {
    let (handlerLog, canary) = (HandlerLog(place, trial.checks), Canary(.handler))
    let attempts = Attempts()
    handlerLog.fate = trial.context.makeFate()
    handlerLog.adding = .open
    @Sendable func attempt(_ payload: StressPayload) throws {
      if payload.index % 5 == 0, attempts.isFirst(payload) { throw FirstAttempt() }
    }
    let handler: Handler<StressPayload> =
      switch place {
      case .background:
        Handler(on: .background) { payload in
          try attempt(payload)
          try handlerLog.call(payload, canary)
        }
      default:
        Handler(on: place == .inOrder ? .inOrder : place == .task ? .task : .concurrent(limit: HandlerPlace.limit)) {
          payload async throws in
          try attempt(payload)
          try await handlerLog.call(payload, canary, pausing: true)
        }
      }
    // The call of a `.task` handler for a `send` is a child task of the sender. If a fault cancels
    // the sender during a delay, the library makes no further attempt. So this scenario has `.task`
    // handlers retry without a delay.
    let policy =
      place == .task
      ? RetryPolicy.immediately(attempts: 3)
      : .exponential(from: .microseconds(100), to: .milliseconds(1), attempts: 3)
    handlerLog.token = trial.event.add(handler.with(.retrying(policy) { $0 is FirstAttempt }))
    handlerLog.adding.finish()
    trial.extraHandlerLogs.append(handlerLog)
  }

  /// The payloads for which the first attempt of a handler has failed.
  // Safe: `lock` guards `seen`. It is an `NSLock`, because the thread sanitizer does not see the
  // lock of `Mutex`.
  private final class Attempts: @unchecked Sendable {
    private let lock = NSLock()
    /// Guarded by: lock.
    private var seen: Set<Int64> = []

    func isFirst(_ payload: StressPayload) -> Bool {
      lock.withLock { seen.insert(Int64(payload.senderLog) << 32 | Int64(payload.index)).inserted }
    }
  }
}
