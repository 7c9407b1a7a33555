import Eventing

/// Locks and unlocks handlers by token, by name and for the duration of `withLocked`, and locks the
/// whole event (G9).
///
/// No handler is added or removed during the race. So every report has to account for all handlers
/// (G21), and every snapshot for all occurrences.
struct Locking: Scenario {
  static let name = "lock"
  static let summary =
    "handlers, and the event itself, are locked and unlocked while all workers send: no call under a lock"

  func round(_ context: ScenarioContext) async {
    let trial = Trial(context)
    // The calls of the trial's first handler show the order of the event's occurrences. If the
    // event lock keeps an occurrence from that handler, the position of the occurrence is unknown.
    // So half of the rounds do without that lock, which makes their checks exact.
    let hasGate = context.rounds.value % 2 == 0
    for (number, worker) in (0..<max(context.workers.count, context.options.handlers)).map({
      ($0, context.workers[$0 % context.workers.count])
    }) {
      let place =
        number % 2 == 0 ? HandlerPlace.inline : HandlerPlace.allCases[(number / 2) % HandlerPlace.allCases.count]
      let handlerLog = HandlerLog(
        place, named: number % 3 == 0 ? "\(number)" : nil, throwsEvery: number % 7 == 3 ? 11 : 0, trial.checks)
      trial.add(handlerLog)
      worker.handlerLogs.append(handlerLog)
    }
    await context.race(steps: 250) { worker in
      step(worker, trial, hasGate)
    } inTask: { worker in
      switch worker.random.below(20) {
      case 0: await worker.send(to: trial.event)
      case 1: await lockInScope(worker, trial)
      default: step(worker, trial, hasGate)
      }
    }
    await trial.finish()
    await judgeSnapshots(trial)
  }

  private func step(_ worker: Worker, _ trial: Trial, _ hasGate: Bool) {
    switch worker.random.below(10) {
    case 0..<3: trial.toggleLock(worker.random.pick(worker.handlerLogs), by: worker)
    case 3: lockByName(worker.random.pick(worker.handlerLogs), worker, trial)
    case 4: if worker.index == 0, hasGate { trial.toggleEventLock(by: worker) } else { worker.post(to: trial.event) }
    case 5: worker.submit(to: trial.event)
    default: worker.post(to: trial.event)
    }
  }

  private func lockByName(_ handlerLog: HandlerLog, _ worker: Worker, _ trial: Trial) {
    guard let name = handlerLog.name, !handlerLog.isLocked else { return }
    let (count, on) = worker.change(.lock) { trial.event.lockAll(where: .named(name)) }
    handlerLog.locks.append(HandlerLog.LockSpan(on: on, off: nil))
    trial.checks.expect(.g9, count == 1, "lockAll(where:) found \(count) of \(handlerLog)")
    worker.post(to: trial.event)
    handlerLog.locks[handlerLog.locks.count - 1].off =
      worker.change(.lock) { trial.event.unlockAll(where: .named(name)) }.span
  }

  /// Locks a handler in two scopes, one within the other. It stays locked until the outer scope
  /// ends.
  private func lockInScope(_ worker: Worker, _ trial: Trial) async {
    let handlerLog = worker.random.pick(worker.handlerLogs)
    guard let token = handlerLog.token, !handlerLog.isLocked else { return }
    let event = trial.event
    let number = handlerLog.locks.count
    worker.begin(.lock)
    var on = Span.open
    await event.withLocked(token) {
      await event.withLocked(token) { worker.post(to: event) }
      on.finish()
      handlerLog.locks.append(HandlerLog.LockSpan(on: on, off: nil))
      trial.checks.expect(.g9, event.isLocked(token), "\(handlerLog) is not locked within withLocked")
      for _ in 0..<worker.random.below(4) { worker.post(to: event) }
      await worker.giveWayInTask()
      handlerLog.locks[number].off = .open
    }
    handlerLog.locks[number].off?.finish()
    worker.changes.append(on)
    trial.checks.expect(.g9, !event.isLocked(token), "\(handlerLog) is locked after withLocked")
  }

  /// Checks that each snapshot counts exactly the calls that took place, and all other occurrences
  /// as skipped.
  private func judgeSnapshots(_ trial: Trial) async {
    let snapshots = await trial.event.handlers()
    let handlerLogs = Dictionary(uniqueKeysWithValues: trial.handlerLogs.map { ($0.token?.id ?? 0, $0) })
    let total = trial.senderLogs.reduce(0) { $0 + $1.sent.count }
    for snapshot in snapshots {
      guard let handlerLog = handlerLogs[snapshot.id] else { continue }
      trial.checks.expect(
        .g21, snapshot.callCount == handlerLog.calls.count,
        "\(handlerLog) was called \(handlerLog.calls.count) times; its snapshot says \(snapshot.callCount)")
      let all = snapshot.callCount + snapshot.skippedCount
      trial.checks.expect(
        .g21, all == total,
        "\(handlerLog): \(snapshot.callCount) calls and \(snapshot.skippedCount) skipped of \(total)")
      trial.checks.expect(
        .g9, snapshot.isLocked == handlerLog.isLocked, "\(handlerLog): its snapshot says isLocked \(snapshot.isLocked)")
    }
  }
}
