import Eventing
import Foundation
import Synchronization

/// Blocks two handlers until a gate opens: one on `.background`, and an asynchronous one.
///
/// The posters and all other handlers must finish before the gate opens (G15). A `send` must not
/// return before that, because it awaits the blocked handlers (G16).
struct SlowConsumer: Scenario {
  static let name = "slow"
  static let summary = "a handler that is blocked delays only itself"

  func round(_ context: ScenarioContext) async {
    let trial = Trial(context)
    let gate = Gate()
    for place in HandlerPlace.allCases { addHandler(place, to: trial) }
    let blocked = HandlerLog(.background, trial.checks)
    blocked.reaction = { _ in if !gate.isOpen { gate.block(context.faults) } }
    trial.add(blocked)
    let waiting = HandlerLog(.inOrder, trial.checks)
    addWaiting(waiting, gate, to: trial)
    trial.extraHandlerLogs += [blocked, waiting]

    let senderLog = trial.makeSenderLog()
    async let sent: Void = sendAndWait(trial, senderLog, gate)
    await context.race(steps: 60) { worker in
      if worker.random.oneIn(8) { worker.submit(to: trial.event) } else { worker.post(to: trial.event) }
    }
    let total = context.workers.count * 60 + 1
    let fast = trial.handlerLogs.filter { $0 !== blocked && $0 !== waiting }
    context.director.begin(.quiesce)
    for handlerLog in fast {
      let isThrough = await eventually { handlerLog.endedCount >= total }
      trial.checks.expect(
        .g15, isThrough,
        "\(handlerLog) finished \(handlerLog.endedCount) of \(total) calls while another handler was blocked")
    }
    trial.checks.expect(.g13, blocked.endedCount == 0 && waiting.endedCount == 0, "a blocked handler went on too early")
    gate.open()
    await sent
    await trial.finish()
  }

  private func addHandler(_ place: HandlerPlace, to trial: Trial) {
    let handlerLog = HandlerLog(place, trial.checks)
    trial.add(handlerLog)
    trial.extraHandlerLogs.append(handlerLog)
  }

  private func addWaiting(_ handlerLog: HandlerLog, _ gate: Gate, to trial: Trial) {
    let canary = Canary(.handler)
    handlerLog.fate = trial.context.makeFate()
    handlerLog.adding = .open
    handlerLog.token = trial.event.addHandler { payload in
      if !gate.isOpen { await gate.wait(handlerLog.checks.faults) }
      try await handlerLog.call(payload, canary, pausing: true)
    }
    handlerLog.adding.finish()
  }

  private func sendAndWait(_ trial: Trial, _ senderLog: SenderLog, _ gate: Gate) async {
    let payload = senderLog.next()
    let report = await trial.event.send(payload)
    trial.checks.expect(.g16, gate.isOpen, "send returned while two of its handlers were blocked")
    senderLog.returned(payload)
    senderLog.keep(report, of: payload)
  }

  /// A gate that blocks threads, or suspends tasks, until it is opened.
  final class Gate: Sendable {
    private let atomic = Atomic<Bool>(false)

    var isOpen: Bool { atomic.load(ordering: .acquiring) }
    func open() { atomic.store(true, ordering: .releasing) }

    func block(_ faults: Faults) {
      faults.count(.stall)
      while !isOpen { Thread.sleep(forTimeInterval: 0.0005) }
    }

    func wait(_ faults: Faults) async {
      faults.count(.stall)
      while !isOpen { try? await Task.sleep(for: .microseconds(500)) }
    }
  }
}
