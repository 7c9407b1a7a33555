import Eventing

/// Lets senders race for once handlers of every kind (G8).
///
/// Some handlers throw, which also uses them up. Some post to their own event, which must not call
/// them a second time. Others are locked or removed meanwhile.
struct Once: Scenario {
  static let name = "once"
  static let summary =
    "senders race for once handlers on every lane: none is called twice, or never"

  func round(_ context: ScenarioContext) async {
    let trial = Trial(context)
    for worker in context.workers {
      let echo = HandlerLog(.inline, isOnce: true, trial.checks)
      let (event, senderLog, checks) = (trial.event, trial.makeSenderLog(), trial.checks)
      echo.reaction = { _ in
        for _ in 0..<3 {
          checks.faults.count(.reenter)
          let payload = senderLog.next()
          event.post(payload)
          senderLog.returned(payload)
        }
      }
      trial.add(echo, by: worker)
    }
    await context.race(steps: 250) { worker in
      step(worker, trial)
    } inTask: { worker in
      if worker.random.oneIn(30) { await worker.send(to: trial.event) } else { step(worker, trial) }
    }
    await trial.finish()
    await judgeWhatIsLeft(trial)
  }

  private func step(_ worker: Worker, _ trial: Trial) {
    switch worker.random.below(12) {
    case 0..<5: Churn.addHandler(to: trial, by: worker, isOnce: true)
    case 5: if !worker.handlerLogs.isEmpty { trial.toggleLock(worker.random.pick(worker.handlerLogs), by: worker) }
    case 6:
      if worker.random.oneIn(4), !worker.handlerLogs.isEmpty {
        trial.remove(worker.random.pick(worker.handlerLogs), by: worker)
      }
    case 7: worker.submit(to: trial.event)
    default: worker.post(to: trial.event)
    }
  }

  /// Checks that exactly the handlers which were not called are still registered.
  private func judgeWhatIsLeft(_ trial: Trial) async {
    let left = await trial.event.handlers().map(\.id)
    let unused = trial.handlerLogs.filter { $0.removing == nil && !($0.isOnce && !$0.calls.isEmpty) }.compactMap {
      $0.token?.id
    }
    trial.checks.expect(
      .g22, Set(left) == Set(unused), "\(left.count) handlers are left where \(unused.count) are not used up")
    trial.checks.expect(
      .g8, trial.event.handlerCount == unused.count, "handlerCount is \(trial.event.handlerCount), not \(unused.count)")
  }
}
