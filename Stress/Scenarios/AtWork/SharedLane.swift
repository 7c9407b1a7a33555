import Eventing
import Synchronization

/// Sends to handlers that share a lane, while other handlers are added to it and removed. Calls on
/// the lane do not overlap (guarantee H8 of PROOF.md). Each handler keeps its own guarantees.
struct SharedLane: Scenario {
  static let name = "sharedlane"
  static let summary = "handlers on one lane: one call at a time, in order, while handlers come and go"

  func round(_ context: ScenarioContext) async {
    let (trial, lane, running) = (Trial(context), HandlerLane("stress"), Running())
    for _ in 0..<3 { trial.extraHandlerLogs.append(add(to: trial, lane, running, by: nil)) }
    await context.race(steps: 100) { worker in
      switch worker.random.below(12) {
      case 0: worker.handlerLogs.append(add(to: trial, lane, running, by: worker))
      case 1:
        if let handlerLog = worker.handlerLogs.first(where: { $0.removing == nil }) {
          trial.remove(handlerLog, by: worker)
        }
      case 2: worker.submit(to: trial.event)
      default: worker.post(to: trial.event)
      }
    } inTask: { worker in
      if worker.random.oneIn(6) { await worker.send(to: trial.event) } else { worker.post(to: trial.event) }
    }
    await lane.quiesce()
    await trial.finish()
  }

  private func add(to trial: Trial, _ lane: HandlerLane, _ running: Running, by worker: Worker?) -> HandlerLog {
    let (handlerLog, canary) = (HandlerLog(.inOrder, trial.checks), Canary(.handler))
    handlerLog.fate = worker?.makeFate() ?? trial.context.makeFate()
    func attach() {
      handlerLog.adding = .open
      handlerLog.token = trial.event.addHandler(on: .lane(lane)) { payload in
        handlerLog.checks.expect(.g13, running.begin() == 0, "calls on a shared lane overlap")
        defer { running.end() }
        try await handlerLog.call(payload, canary, pausing: true)
      }
      handlerLog.adding.finish()
    }
    if let worker { worker.change(.add) { attach() } } else { attach() }
    return handlerLog
  }

  /// The number of running calls on the lane.
  private final class Running: Sendable {
    private let count = Atomic<Int>(0)
    func begin() -> Int { count.wrappingAdd(1, ordering: .relaxed).oldValue }
    func end() { count.wrappingSubtract(1, ordering: .relaxed) }
  }
}
