import Eventing

/// Sends to the keys of one event. A payload for a key reaches the handlers of that key and those
/// of `anyKey`, and no others (G21), in one order over all keys (G1).
///
/// Every handler is verified as in the scenario "churn", by the payloads that must reach it.
/// Handlers of every kind are added and removed, so keys gain their first handlers and lose their
/// last ones. Some handlers are locked, others are called once.
///
/// A second event has objects as keys. If an object is released and a new one gets its address, the
/// handlers of the new object must not receive payloads for the old one (G10).
struct Keyed: Scenario {
  static let name = "keyed"
  static let summary =
    "keys appear and vanish during sends, and objects that are keys die: each handler receives only its own key"

  private static let keys: Int32 = 6

  typealias Source = KeyedEvent<Int32, StressPayload>

  /// A trial of a keyed event.
  // Safe: see ``AnyTrial``.
  final class KeyedTrial: AnyTrial, @unchecked Sendable {
    let event: Source

    init(_ context: ScenarioContext) {
      event = Source("keyed")
      super.init(context, event) { [event, checks = context.checks] handlerLog, places, priority in
        switch handlerLog.audience {
        case .key(let key): return event[key].add(handlerLog, places, priority: priority)
        default: return Keyed.anyKey(of: event, checks).add(handlerLog, places, priority: priority)
        }
      }
      add(witness)
    }
  }

  private static func anyKey(of event: Source, _ checks: Checks) -> some EventSource<StressPayload> {
    event.anyKey.map { key, payload in
      checks.expect(
        .g21, key == payload.key, "a payload for \(payload.key.map { "\($0)" } ?? "no key") came as one for \(key)")
      return payload
    }
  }

  func round(_ context: ScenarioContext) async {
    let trial = KeyedTrial(context)
    let most = max(1, context.options.handlers / context.workers.count)
    let objects = ObjectBench(context)
    await context.race(steps: 300) { worker in
      if step(worker, trial, most, objects) { send(worker, trial) }
    } inTask: { worker in
      guard step(worker, trial, most, objects) else { return }
      switch worker.random.below(16) {
      case 0: await sendAndWait(worker, trial)
      case 1: await trial.event.quiesce()
      default: send(worker, trial)
      }
    }
    await trial.finish()
    let left = trial.handlerLogs.count { $0.removing == nil && !($0.isOnce && !$0.calls.isEmpty) }
    context.checks.expect(
      .g22, trial.event.handlerCount == left, "\(trial.event.handlerCount) handlers are left of \(left)")
    await objects.finish()
  }

  /// Chooses a send or a change, and makes the change.
  ///
  /// - Returns: Whether the choice is a send, which the caller has to make.
  private func step(_ worker: Worker, _ trial: KeyedTrial, _ most: Int, _ objects: ObjectBench) -> Bool {
    let own = worker.handlerLogs.filter { $0.removing == nil }
    switch worker.random.below(12) {
    case 0, 1:
      if own.count < most {
        addHandler(to: trial, by: worker)
      } else {
        trial.remove(worker.random.pick(own), by: worker)
      }
    case 2, 3: if !own.isEmpty { trial.remove(worker.random.pick(own), by: worker) }
    case 4: if !own.isEmpty { trial.toggleLock(worker.random.pick(own), by: worker) }
    case 5: objects.replace(worker)
    default: return true
    }
    return false
  }

  private func addHandler(to trial: KeyedTrial, by worker: Worker) {
    let place = worker.random.oneIn(2) ? HandlerPlace.inline : worker.random.pick(HandlerPlace.allCases)
    let handlerLog = HandlerLog(
      place, isOnce: worker.random.oneIn(6), throwsEvery: worker.random.oneIn(8) ? 5 : 0, trial.checks)
    handlerLog.audience =
      switch worker.random.below(8) {
      case 0...2: .anyKey
      default: .key(Int32(worker.random.below(Int(Keyed.keys))))
      }
    trial.add(handlerLog, by: worker, priority: worker.random.oneIn(2) ? 0 : worker.random.below(5) - 2)
  }

  private func key(_ worker: Worker) -> Int32 { Int32(worker.random.below(Int(Keyed.keys))) }

  private func send(_ worker: Worker, _ trial: KeyedTrial) {
    let isSubmitted = worker.random.oneIn(5)
    worker.begin(isSubmitted ? .submit : .post)
    let (event, key) = (trial.event, key(worker))
    let payload = worker.senderLog.next(to: key)
    if isSubmitted {
      worker.keep(event.submit(payload, to: key), of: payload)
    } else if worker.random.oneIn(8) {
      event.post(payload, to: [key, key])
    } else {
      event.post(payload, to: key)
    }
    worker.posting.add(worker.senderLog.returned(payload))
    worker.activityLog.end()
  }

  private func sendAndWait(_ worker: Worker, _ trial: KeyedTrial) async {
    worker.begin(.send)
    let (event, key) = (trial.event, key(worker))
    let payload = worker.senderLog.next(to: key)
    let report = await worker.awaiting { await event.send(payload, to: key) }
    worker.sending.add(worker.senderLog.returned(payload))
    worker.senderLog.keep(report, of: payload)
    worker.activityLog.end()
  }
}
