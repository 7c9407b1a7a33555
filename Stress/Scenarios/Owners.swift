import Eventing
import Synchronization

/// Releases the owners of handlers while all workers send (G10).
///
/// An owner records the time of its `deinit`. On every lane, no call of its handler may begin after
/// that time. Until the release, every occurrence reaches the handler. When no handler runs any
/// more, all owners are deallocated, although nothing has called `remove` for their handlers.
struct Owners: Scenario {
  static let name = "owners"
  static let summary = "owners of handlers are released during sends: no call begins after their deinit"

  /// An owner of a handler. The worker that made the owner retains it. So does each running call of
  /// the handler.
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
    trial.checks.expect(.g10, areGone, "\(Canary.alive(.owner)) owners are alive though only handlers refer to them")
    await trial.finish()
    trial.checks.expect(
      .g10, trial.event.handlerCount == 1,
      "\(trial.event.handlerCount - 1) handlers of released owners are still counted")
    // Handlers on the main actor whose owners are gone are found there, at the latest by this send.
    _ = await trial.event.send(StressPayload(senderLog: 0, index: 0, canary: Canary(.payload)))
    let report = await trial.event.send(StressPayload(senderLog: 0, index: 0, canary: Canary(.payload)))
    let isAlone = report.delivered + report.failures.count == 1 && report.skipped == 0
    trial.checks.expect(.g10, isAlone, "a send found handlers of released owners: \(report)")
  }

  /// The owners that one worker retains.
  // Safe: each worker has an `OwnerList` of its own. During a race, only this worker accesses the
  // list. Between races, only the scenario does.
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
        worker.change(.add) { handlerLog.token = OwnerList.add(owner, handlerLog, to: trial.event) }.span
      worker.handlerLogs.append(handlerLog)
      owners.append((owner, handlerLog))
    }

    /// Releases an owner. This begins the removal of its handler. The removal ends in the owner's
    /// `deinit`, which may run later on another thread.
    func letGo(_ worker: Worker) {
      guard !owners.isEmpty else { return }
      let handlerLog = owners[0].handlerLog
      handlerLog.removing = .open
      handlerLog.checks.faults.count(.drop)
      worker.change(.remove) {
        owners.swapAt(0, owners.count - 1); owners.removeLast()
      }
    }

    private static func add(_ owner: Owner, _ handlerLog: HandlerLog, to event: Event<StressPayload>) -> HandlerToken {
      let canary = Canary(.handler)
      let isMine: @Sendable (Owner) -> Void = { owner in
        handlerLog.checks.expect(
          .g10, owner.isMine(handlerLog), "\(handlerLog) was called with another owner, or with a released one")
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
        return event.addHandler(on: .concurrent(limit: HandlerPlace.limit), owner: owner) {
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
