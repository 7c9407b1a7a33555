import Eventing
import Synchronization

/// Handlers end with their owners, which are let go while everybody sends (G10).
///
/// An owner notes the time of its `deinit`. No call may begin after it, wherever the handler runs; until the owner is let go every occurrence reaches
/// it; and once nothing moves all of them are gone, though the event and its handlers were never told.
struct Owners: Scenario {
  static let name = "owners"
  static let summary = "owners of handlers are let go, or die, in the middle of sends: no call begins after that"

  /// What owns a handler. Only its worker holds it, and a call for its own length.
  final class Owner: Sendable {
    private let probe: Probe
    private let canary = Canary(.owner)
    private let isOver = Atomic<Bool>(false)

    init(_ probe: Probe) { self.probe = probe }

    deinit {
      isOver.store(true, ordering: .releasing)
      probe.removalEnded()
    }

    func isMine(_ probe: Probe) -> Bool { probe === self.probe && !isOver.load(ordering: .acquiring) && canary.isAlive }
  }

  func round(_ stage: Stage) async {
    let trial = Trial(stage)
    let owners = stage.workers.map { _ in OwnerList() }
    let most = max(1, stage.options.handlers / stage.workers.count)
    @Sendable func step(_ worker: Worker) -> Bool {
      let own = owners[worker.index]
      switch worker.random.below(12) {
      case 0..<2 where own.owners.count < most: own.add(trial, worker)
      case 0..<3: own.letGo(worker)
      default: return true
      }
      return false
    }
    await stage.race(steps: 300) { worker in
      if step(worker) { worker.post(to: trial.event) }
    } inTask: { worker in
      guard step(worker) else { return }
      if worker.random.oneIn(12) { await worker.send(to: trial.event) } else { worker.post(to: trial.event) }
    }
    for (worker, own) in zip(stage.workers, owners) { while !own.owners.isEmpty { own.letGo(worker) } }
    let areGone = await eventually { Canary.alive(.owner) == 0 }
    trial.checks.expect(.g10, areGone, "\(Canary.alive(.owner)) owners are alive though nobody holds them but handlers")
    await trial.finish()
    trial.checks.expect(
      .g10, trial.event.handlerCount == 1,
      "\(trial.event.handlerCount - 1) handlers of owners that are gone are still counted")
    let report = await trial.event.send(Parcel(voice: 0, index: 0, canary: Canary(.payload)))
    let isAlone = report.delivered + report.failures.count == 1 && report.skipped == 0
    trial.checks.expect(.g10, isAlone, "a send found handlers whose owners are gone: \(report)")
  }

  /// The owners that one worker holds.
  // Safe: touched by that worker, and by the scenario when nobody races.
  final class OwnerList: @unchecked Sendable {
    private(set) var owners: [(owner: Owner, probe: Probe)] = []

    func add(_ trial: Trial, _ worker: Worker) {
      let probe = Probe(
        worker.random.pick([.inline, .inline, .background, .main, .inOrder, .concurrent]), trial.checks)
      probe.hasOwner = true
      probe.isRemovalStrict = true
      probe.fate = worker.makeFate()
      let owner = Owner(probe)
      probe.adding = worker.change(.add) { probe.token = OwnerList.attach(owner, probe, to: trial.event) }.span
      worker.probes.append(probe)
      owners.append((owner, probe))
    }

    /// The removal begins here and ends with the owner's `deinit`, which may come later, on another thread.
    func letGo(_ worker: Worker) {
      guard !owners.isEmpty else { return }
      let probe = owners[0].probe
      probe.removing = .open
      probe.checks.faults.count(.drop)
      worker.change(.remove) {
        owners.swapAt(0, owners.count - 1); owners.removeLast()
      }
    }

    private static func attach(_ owner: Owner, _ probe: Probe, to event: Event<Parcel>) -> HandlerToken {
      let canary = Canary(.handler)
      let isMine: @Sendable (Owner) -> Void = { owner in
        probe.checks.expect(
          .g10, owner.isMine(probe), "\(probe) was called with an owner that is not its own, or is gone")
      }
      switch probe.place {
      case .background:
        return event.addHandler(on: .background, owner: owner) {
          isMine($0); try probe.call($1, canary)
        }
      case .main:
        return event.addHandler(on: .main, owner: owner) {
          isMine($0); try probe.call($1, canary)
        }
      case .inOrder:
        return event.addHandler(owner: owner) {
          isMine($0); try await probe.call($1, canary, pausing: true)
        }
      case .concurrent:
        return event.addHandler(on: .concurrent(limit: Place.limit), owner: owner) {
          isMine($0); try await probe.call($1, canary, pausing: true)
        }
      default:
        return event.addHandler(owner: owner) {
          isMine($0); try probe.call($1, canary)
        }
      }
    }
  }
}
