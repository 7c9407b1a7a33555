import Eventing

/// Locks the event and its handlers, with locks that hold the occurrences, while all workers send.
/// No occurrence is lost, none is reordered, and no handler is called under a lock (G9).
///
/// No handler is removed, and every lock holds all occurrences that it keeps from a handler. So
/// every handler must receive every occurrence. The trial takes the order of the event from its
/// first handler, the witness. The event lock also holds the occurrences for the witness, so the
/// order of the witness's calls remains the order of the event.
struct HeldLocks: Scenario {
  static let name = "hold"
  static let summary = "locks that hold: the occurrences that they skip arrive later, all of them and in order"

  func round(_ context: ScenarioContext) async {
    let trial = Trial(context)
    trial.holding = .unbounded
    for (number, worker) in (0..<max(context.workers.count, context.options.handlers)).map({
      ($0, context.workers[$0 % context.workers.count])
    }) {
      let place =
        number % 2 == 0 ? HandlerPlace.inline : HandlerPlace.allCases[(number / 2) % HandlerPlace.allCases.count]
      let handlerLog = HandlerLog(place, throwsEvery: number % 7 == 3 ? 11 : 0, trial.checks)
      trial.add(handlerLog)
      worker.handlerLogs.append(handlerLog)
    }
    await context.race(steps: 250) { worker in
      step(worker, trial)
    } inTask: { worker in
      switch worker.random.below(20) {
      case 0: await worker.send(to: trial.event)
      case 1: await lockInScope(worker, trial)
      default: step(worker, trial)
      }
    }
    for worker in context.workers {
      for handlerLog in worker.handlerLogs where handlerLog.isLocked { trial.toggleLock(handlerLog, by: worker) }
    }
    if trial.isEventLocked { trial.toggleEventLock(by: context.workers[0]) }
    await trial.finish()
    await judgeSnapshots(trial)
  }

  private func step(_ worker: Worker, _ trial: Trial) {
    switch worker.random.below(10) {
    case 0..<3: trial.toggleLock(worker.random.pick(worker.handlerLogs), by: worker)
    case 3 where worker.index == 0: trial.toggleEventLock(by: worker)
    case 4: worker.submit(to: trial.event)
    default: worker.post(to: trial.event)
    }
  }

  private func lockInScope(_ worker: Worker, _ trial: Trial) async {
    let handlerLog = worker.random.pick(worker.handlerLogs)
    guard let token = handlerLog.token, !handlerLog.isLocked else { return }
    let number = handlerLog.locks.count
    worker.begin(.lock)
    var on = Span.open
    await trial.event.withLocked(token, holding: trial.holding) {
      on.finish()
      handlerLog.locks.append(HandlerLog.LockSpan(on: on, off: nil))
      for _ in 0..<worker.random.below(4) { worker.post(to: trial.event) }
      await worker.giveWayInTask()
      handlerLog.locks[number].off = .open
    }
    handlerLog.locks[number].off?.finish()
    worker.changes.append(on)
  }

  /// Checks that every handler was called with every occurrence, and that no occurrence is held any
  /// more.
  private func judgeSnapshots(_ trial: Trial) async {
    let total = trial.senderLogs.reduce(0) { $0 + $1.sent.count }
    for snapshot in await trial.event.handlers() {
      trial.checks.expect(
        .g9, snapshot.callCount == total && snapshot.heldCount == 0,
        "handler \(snapshot.id) on \(snapshot.delivery): \(snapshot.callCount) calls, \(snapshot.heldCount) held of \(total)"
      )
    }
  }
}
