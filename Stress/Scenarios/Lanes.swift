import Eventing
import Synchronization

/// Sends to a handler on every kind of lane. Every occurrence reaches each handler. Where the lane
/// promises it, calls come in order, one at a time (G13). A `send` returns when all handlers have
/// finished (G16).
///
/// During the race no handler is added or removed. Then the handlers are removed during further
/// sends. Some are removed on their own serial context, where no call may begin after the removal
/// (G7).
struct Lanes: Scenario {
  static let name = "lanes"
  static let summary = "main, background, queues, actors, tasks: in order, one at a time, and all awaited"

  func round(_ context: ScenarioContext) async {
    let trial = Trial(context)
    for place in HandlerPlace.allCases {
      let handlerLog = HandlerLog(place, named: "\(place)", throwsEvery: place == .queue ? 13 : 0, trial.checks)
      trial.add(handlerLog)
      trial.extraHandlerLogs.append(handlerLog)
    }
    let lanes = HandlerPlace.allCases.count + 1
    await context.race(steps: 120) { worker in
      if worker.random.oneIn(3) { worker.submit(to: trial.event) } else { worker.post(to: trial.event) }
    } inTask: { worker in
      switch worker.random.below(10) {
      case 0: await sendAndLook(worker, trial, lanes)
      case 1: worker.submit(to: trial.event)
      default: worker.post(to: trial.event)
      }
    }
    await removeAll(trial, context)
    await trial.finish()
    let calls = await trial.places.room.calls
    let room = trial.handlerLogs.first { $0.place == .isolated }
    trial.checks.expect(
      .g13, calls == room?.calls.count, "the actor counted \(calls) calls, the handlerLog \(room?.calls.count ?? 0)")
  }

  /// Sends. When the `send` has returned, checks that each handler that runs in order has finished
  /// its calls for all occurrences up to this one.
  private func sendAndLook(_ worker: Worker, _ trial: Trial, _ lanes: Int) async {
    await worker.send(to: trial.event)
    guard let report = worker.senderLog.reports.last?.report else { return }
    let called = report.delivered + report.failures.count
    let found = called + report.skipped + report.deferred + report.held + report.dropped
    trial.checks.expect(.g21, found == lanes, "a report accounts for \(found) handlers, not \(lanes): \(report)")
    trial.checks.expect(
      .g16, report.deferred == 0 && report.dropped == 0, "a send from outside awaits all: \(report)")
    for handlerLog in trial.extraHandlerLogs where handlerLog.place.isInOrder {
      let ended = handlerLog.endedCount
      trial.checks.expect(
        .g16, ended >= Int(report.sequence),
        "send \(report.sequence) returned when \(handlerLog) had finished \(ended) calls")
    }
  }

  private func removeAll(_ trial: Trial, _ context: ScenarioContext) async {
    for worker in context.workers {
      worker.handlerLogs = trial.extraHandlerLogs.filter {
        $0.place != .inline && $0.place.rawValue % context.workers.count == worker.index
      }
    }
    trial.extraHandlerLogs.removeAll { $0.place != .inline }
    await context.race(steps: 40) { worker in
      if worker.random.oneIn(12), let handlerLog = worker.handlerLogs.first(where: { $0.removing == nil }) {
        trial.remove(handlerLog, by: worker)
      }
      worker.post(to: trial.event)
    }
  }
}
