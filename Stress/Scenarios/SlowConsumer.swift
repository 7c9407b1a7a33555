import Eventing
import Foundation
import Synchronization

/// Two handlers stand still until a gate opens, one on a queue of its own and one that awaits. Everybody else must be through before that: the senders, and
/// the handlers on every other lane (G15). A `send` must not: it waits for the slow ones too (G16).
struct SlowConsumer: Scenario {
  static let name = "slow"
  static let summary = "a handler that stands still delays nobody but itself"

  func round(_ stage: Stage) async {
    let trial = Trial(stage)
    let gate = Gate()
    for place in Place.allCases { addHandler(place, to: trial) }
    let blocked = Probe(.background, trial.checks)
    blocked.reaction = { _ in if !gate.isOpen { gate.block(stage.faults) } }
    trial.add(blocked)
    let waiting = Probe(.inOrder, trial.checks)
    addWaiting(waiting, gate, to: trial)
    trial.extraProbes += [blocked, waiting]

    let voice = trial.makeVoice()
    async let sent: Void = sendAndWait(trial, voice, gate)
    await stage.race(steps: 60) { worker in
      if worker.random.oneIn(8) { worker.submit(to: trial.event) } else { worker.post(to: trial.event) }
    }
    let total = stage.workers.count * 60 + 1
    let fast = trial.probes.filter { $0 !== blocked && $0 !== waiting }
    stage.director.begin(.quiesce)
    for probe in fast {
      let isThrough = await eventually { probe.endedCount >= total }
      trial.checks.expect(
        .g15, isThrough, "\(probe) finished \(probe.endedCount) of \(total) calls while another handler stood still")
    }
    trial.checks.expect(.g13, blocked.endedCount == 0 && waiting.endedCount == 0, "a handler went on before it could")
    gate.open()
    await sent
    await trial.finish()
  }

  private func addHandler(_ place: Place, to trial: Trial) {
    let probe = Probe(place, trial.checks)
    trial.add(probe)
    trial.extraProbes.append(probe)
  }

  private func addWaiting(_ probe: Probe, _ gate: Gate, to trial: Trial) {
    let canary = Canary(.handler)
    probe.fate = trial.stage.makeFate()
    probe.adding = .open
    probe.token = trial.event.addHandler { parcel in
      if !gate.isOpen { await gate.wait(probe.checks.faults) }
      try await probe.call(parcel, canary, pausing: true)
    }
    probe.adding.finish()
  }

  private func sendAndWait(_ trial: Trial, _ voice: Voice, _ gate: Gate) async {
    let parcel = voice.next()
    let report = await trial.event.send(parcel)
    trial.checks.expect(.g16, gate.isOpen, "send returned when two of its handlers stood still")
    voice.returned(parcel)
    voice.keep(report, of: parcel)
  }

  /// Holds back a thread, or a task, until it is opened.
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
