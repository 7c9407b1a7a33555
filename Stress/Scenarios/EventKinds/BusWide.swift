import Eventing

/// Lets all workers post to events of a bus, some of which are made meanwhile. One handler receives
/// the payloads of a protocol from all events.
///
/// The handler gets each payload once (G21), and the payloads that one worker posts to one event in
/// the order of the posts (G2). No closure of a removed handler is called after the closure's
/// release (G7).
struct BusWide: Scenario {
  static let name = "buswide"
  static let summary = "a handler of all payloads of a protocol, in every event of a bus: none is lost or doubled"

  protocol Numbered: Sendable {
    var sender: Int { get }
    var number: Int { get }
  }
  struct First: Numbered { let sender, number: Int }
  struct Second: Numbered { let sender, number: Int }
  struct Silent: Sendable {}

  /// The number of payloads that the handler received from one event, and the last number of each
  /// sender.
  // Safe: the bus calls the handler one call at a time for each event, and each event has its own
  // log. The scenario reads when no handler runs.
  final class Log: @unchecked Sendable {
    private var last: [Int: Int] = [:]
    private(set) var count = 0

    func take(_ payload: any Numbered, _ checks: Checks) {
      let before = last[payload.sender] ?? -1
      checks.expect(
        .g2, payload.number > before, "number \(payload.number) of sender \(payload.sender) after \(before)")
      last[payload.sender] = payload.number
      count += 1
    }
  }

  static let key = EventKey<Second>("owned")

  final class Owner: Sendable { private let canary = Canary(.owner) }

  func round(_ context: ScenarioContext) async {
    let (bus, owner) = (EventBus(), Owner())
    let (first, second, owned, wanted) = (Log(), Log(), Log(), Counter())
    let checks = context.checks
    // Two events have payloads of the type `Second`: the bus's event for this type, and the owner's
    // event. Each has a log of its own. So that the handler finds the right log, a worker adds
    // `workers` to its sender number in payloads for the owner's event.
    let workers = context.workers.count
    let token = bus.all(as: (any Numbered).self).addHandler { payload in
      switch payload {
      case is First: first.take(payload, checks)
      default: (payload.sender < workers ? second : owned).take(payload, checks)
      }
    }
    @Sendable func step(_ worker: Worker) {
      let number = worker.actions.count
      switch worker.random.below(9) {
      case 0..<3: worker.action(.post) { bus.post(First(sender: worker.index, number: number)) }
      case 3..<5: worker.action(.post) { bus.post(Second(sender: worker.index, number: number)) }
      case 5..<7:
        worker.action(.post) {
          (try? bus.event(BusWide.key, of: owner))?.post(Second(sender: workers + worker.index, number: number))
        }
      case 7:
        worker.action(.add) {
          let canary = Canary(.handler)
          let extra = bus.all(as: (any Numbered).self).addHandler { _ in
            checks.expect(.g7, canary.isAlive, "a handler that was released is called")
          }
          bus.remove(extra)
        }
        return
      default:
        worker.action(.post) { bus.post(Silent()) }
        return
      }
      wanted.add()
    }
    await context.race(steps: 200, step) { step($0) }
    context.director.begin(.quiesce)
    await bus.event(for: First.self).quiesce()
    await bus.event(for: Second.self).quiesce()
    await (try? bus.event(BusWide.key, of: owner))?.quiesce()
    context.director.begin(.verify)
    let count = first.count + second.count + owned.count
    checks.expect(.g21, count == wanted.value, "\(count) payloads received, of \(wanted.value)")
    checks.expect(.g7, bus.remove(token), "the handler of all payloads was not found")
    context.countOverlaps()
  }
}
