import Eventing
import Synchronization

/// Handlers end with their owners, which are let go while everybody sends (G10).
///
/// An owner activities the time of its `deinit`. No call may begin after it, wherever the handler runs; until the owner is let go every occurrence reaches
/// it; and once nothing moves all of them are gone, though the event and its handlers were never told.
struct Owners: Scenario {
  static let name = "owners"
  static let summary = "owners of handlers are let go, or die, in the middle of sends: no call begins after that"

  /// What owns a handler. Only its worker holds it, and a call for its own length.
  final class Owner: Sendable {
    private let handlerLog: HandlerLog
    private let canary = Canary(.owner)
    private let isOver = Atomic<Bool>(false)

    init(_ handlerLog: HandlerLog) { self.handlerLog = handlerLog }

    deinit {
      isOver.store(true, ordering: .releasing)
      handlerLog.removalEnded()
    }

    func isMine(_ handlerLog: HandlerLog) -> Bool {
      handlerLog === self.handlerLog && !isOver.load(ordering: .acquiring) && canary.isAlive
    }
  }

  func round(_ context: ScenarioContext) async {
    let trial = Trial(context)
    let owners = context.workers.map { _ in OwnerList() }
    let most = max(1, context.options.handlers / context.workers.count)
    @Sendable func step(_ worker: Worker) -> Bool {
      let own = owners[worker.index]
      switch worker.random.below(12) {
      case 0..<2 where own.owners.count < most: own.add(trial, worker)
      case 0..<3: own.letGo(worker)
      default: return true
      }
      return false
    }
    await context.race(steps: 300) { worker in
      if step(worker) { worker.post(to: trial.event) }
    } inTask: { worker in
      guard step(worker) else { return }
      if worker.random.oneIn(12) { await worker.send(to: trial.event) } else { worker.post(to: trial.event) }
    }
    for (worker, own) in zip(context.workers, owners) { while !own.owners.isEmpty { own.letGo(worker) } }
    let areGone = await eventually { Canary.alive(.owner) == 0 }
    trial.checks.expect(.g10, areGone, "\(Canary.alive(.owner)) owners are alive though nobody holds them but handlers")
    await trial.finish()
    trial.checks.expect(
      .g10, trial.event.handlerCount == 1,
      "\(trial.event.handlerCount - 1) handlers of owners that are gone are still counted")
    let report = await trial.event.send(StressPayload(senderLog: 0, index: 0, canary: Canary(.payload)))
    let isAlone = report.delivered + report.failures.count == 1 && report.skipped == 0
    trial.checks.expect(.g10, isAlone, "a send found handlers whose owners are gone: \(report)")
  }

  /// The owners that one worker holds.
  // Safe: touched by that worker, and by the scenario when nobody races.
  final class OwnerList: @unchecked Sendable {
    private(set) var owners: [(owner: Owner, handlerLog: HandlerLog)] = []

    func add(_ trial: Trial, _ worker: Worker) {
      let handlerLog = HandlerLog(
        worker.random.pick([.inline, .inline, .background, .main, .inOrder, .concurrent]), trial.checks)
      handlerLog.hasOwner = true
      handlerLog.isRemovalStrict = true
      handlerLog.fate = worker.makeFate()
      let owner = Owner(handlerLog)
      handlerLog.adding =
        worker.change(.add) { handlerLog.token = OwnerList.attach(owner, handlerLog, to: trial.event) }.span
      worker.handlerLogs.append(handlerLog)
      owners.append((owner, handlerLog))
    }

    /// The removal begins here and ends with the owner's `deinit`, which may come later, on another thread.
    func letGo(_ worker: Worker) {
      guard !owners.isEmpty else { return }
      let handlerLog = owners[0].handlerLog
      handlerLog.removing = .open
      handlerLog.checks.faults.count(.drop)
      worker.change(.remove) {
        owners.swapAt(0, owners.count - 1); owners.removeLast()
      }
    }

    private static func attach(_ owner: Owner, _ handlerLog: HandlerLog, to event: Event<StressPayload>) -> HandlerToken
    {
      let canary = Canary(.handler)
      let isMine: @Sendable (Owner) -> Void = { owner in
        handlerLog.checks.expect(
          .g10, owner.isMine(handlerLog), "\(handlerLog) was called with an owner that is not its own, or is gone")
      }
      switch handlerLog.place {
      case .background:
        return event.addHandler(on: .background, owner: owner) {
          isMine($0); try handlerLog.call($1, canary)
        }
      case .main:
        return event.addHandler(on: .main, owner: owner) {
          isMine($0); try handlerLog.call($1, canary)
        }
      case .inOrder:
        return event.addHandler(owner: owner) {
          isMine($0); try await handlerLog.call($1, canary, pausing: true)
        }
      case .concurrent:
        return event.addHandler(on: .concurrent(limit: Place.limit), owner: owner) {
          isMine($0); try await handlerLog.call($1, canary, pausing: true)
        }
      default:
        return event.addHandler(owner: owner) {
          isMine($0); try handlerLog.call($1, canary)
        }
      }
    }
  }
}
