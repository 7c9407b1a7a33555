import Eventing

/// Adds, removes and locks handlers of every kind while all workers send.
///
/// Verifies that every handler receives each occurrence that it must, in order, and no other (G1,
/// G2, G6, G7, G9, G13, G21). In half of the rounds, an additional handler changes its own event
/// during a delivery (G20). It adds a handler and removes that handler before the next occurrence,
/// so the added handler must never be called.
struct Churn: Scenario {
  static let name = "churn"
  static let summary =
    "handlers of every kind are added, removed and locked while all workers send: none misses an occurrence"

  func round(_ context: ScenarioContext) async {
    let trial = Trial(context)
    let mix = context.options.mix
    let most = max(1, context.options.handlers / context.workers.count)
    var random = context.random()
    if random.oneIn(2) { addMeddler(to: trial) }

    @Sendable func step(_ worker: Worker) -> Bool {
      let own = worker.handlerLogs.filter { $0.removing == nil }
      switch worker.random.weighted(mix.weights) {
      case 0 where own.count < most: Churn.addHandler(to: trial, by: worker)
      case 0, 1: if !own.isEmpty { trial.remove(worker.random.pick(own), by: worker) }
      case 2: if !own.isEmpty { trial.toggleLock(worker.random.pick(own), by: worker) }
      default: return true
      }
      return false
    }
    await context.race(steps: 300) { worker in
      guard step(worker) else { return }
      if worker.random.oneIn(6) { worker.submit(to: trial.event) } else { worker.post(to: trial.event) }
    } inTask: { worker in
      guard step(worker) else { return }
      switch worker.random.below(24) {
      case 0: await worker.send(to: trial.event)
      case 1: await worker.look(at: trial.event)
      case 2: await worker.quiesce(trial.event)
      case 3..<6: worker.submit(to: trial.event)
      default: worker.post(to: trial.event)
      }
    }
    await trial.finish()
  }

  /// Adds a handler to the trial. About half of the handlers are inline, and half have no name and
  /// no priority, as in most programs.
  static func addHandler(to trial: Trial, by worker: Worker, isOnce: Bool = false) {
    let place = worker.random.oneIn(2) ? HandlerPlace.inline : worker.random.pick(HandlerPlace.allCases)
    let isPlain = worker.random.oneIn(2)
    let name = isPlain ? nil : "\(worker.index).\(worker.handlerLogs.count)"
    let handlerLog = HandlerLog(
      place, isOnce: isOnce, named: name, throwsEvery: worker.random.oneIn(8) ? 5 : 0, trial.checks)
    trial.add(handlerLog, by: worker, priority: isPlain ? 0 : worker.random.below(5) - 2)
  }

  /// Adds a handler that changes its own event during a delivery.
  private func addMeddler(to trial: Trial) {
    let meddler = HandlerLog(.inline, named: "meddler", trial.checks)
    let (event, checks) = (trial.event, trial.checks)
    meddler.reaction = { payload in
      guard payload.index % 4 == 0 else { return }
      checks.faults.count(.reenter)
      Trouble.addAndRemove(event, named: payload.index % 8 == 4, checks)
    }
    trial.add(meddler)
    trial.extraHandlerLogs.append(meddler)
  }
}
