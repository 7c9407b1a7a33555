import Dispatch
import Eventing
import EventingDiagnostics
import EventingTesting
import Testing

// Lanes on which no call begins, because something else blocks their queue (H10).
extension StuckTests {
  @Test(arguments: [Buffering.unbounded, .newest(2)])
  func aSendThatWaitsForACallThatNeverBeginsIsToldOnce(buffering: Buffering) async {
    let (event, watch, queue) = (Event<Int>("orders"), Watch(), DispatchQueue(label: "database"))
    event.observe(with: watch.diagnostics)
    let token = event.addHandler(.named("billing"), .buffering(buffering), on: .queue(queue)) { _ in }
    let (isBlocked, gate) = (Gate(), Gate())
    queue.async {
      isBlocked.open()
      gate.wait()
    }
    await isBlocked.opened()
    let sending = Task { await event.send(1) }
    while await event.handlers().first?.waitingCount != 1 { await Task.yield() }
    watch.look(2)
    #expect(watch.found.count == 0)
    watch.look(5)
    #expect(watch.found.count == 1)
    let finding = watch.found.values.first
    #expect(finding?.kind == .blockedLane && finding?.handler == token && finding?.eventIdentity == event.identity)
    #expect(finding?.waitingCount == 1)
    #expect(finding?.waits.map(\.event) == [event.identity] && finding?.waits.first?.sequence == 1)
    let text = finding.map { "\($0)" } ?? ""
    #expect(text.hasPrefix("billing of orders has begun no call for "))
    #expect(text.contains(", more than 3600.0 seconds, StuckTests+BlockedLanes.swift:"))
    #expect(text.contains(", 1 waiting; waiting for it: orders"))
    gate.open()
    #expect(await sending.value.delivered == 1)
    watch.look(5)
    #expect(watch.found.count == 1)
  }

  @Test func aLaneThatIsBlockedAgainIsToldAgain() async {
    let (event, watch, queue) = (Event<Int>("orders"), Watch(), DispatchQueue(label: "database"))
    event.observe(with: watch.diagnostics)
    event.addHandler(on: .queue(queue)) { _ in }
    for round in 1...2 {
      let (isBlocked, gate) = (Gate(), Gate())
      queue.async {
        isBlocked.open()
        gate.wait()
      }
      await isBlocked.opened()
      event.post(round)
      watch.look(3)
      #expect(watch.found.count == round)
      gate.open()
      await event.quiesce()
    }
  }

  @Test func aLaneThatWaitsByTheWishOfTheUserIsNotTold() async {
    let (event, watch, queue, clock) = (Event<Int>(), Watch(), DispatchQueue(label: "test"), ManualClock())
    event.observe(with: watch.diagnostics)
    let locked = event.addHandler(on: .queue(queue)) { _ in }
    event.lock(locked, holding: .oldest(9))
    event.batches(of: 9, within: .seconds(1), clock: clock).addHandler { (_: [Int]) async in }
    event.addHandler(.debounced(for: .seconds(1), clock: clock), on: .queue(queue)) { (_: Int) in }
    let lines = event.payloads()
    event.post(1)
    watch.look(5)
    #expect(watch.found.count == 0)
    event.unlock(locked)
    await event.quiesce()
    withExtendedLifetime(lines) {}
  }

  @Test func backgroundHandlersBeyondTheThreadsOfDispatchAreTold() async {
    // In place of hundreds of threads, one queue that hangs: a handler on `.background` has a queue
    // of its own, which waits for a thread in the same way.
    let (event, watch, target) = (Event<Int>("orders"), Watch(), DispatchQueue(label: "threads"))
    event.observe(with: watch.diagnostics)
    let queue = DispatchQueue(label: "background", target: target)
    let (isBlocked, gate) = (Gate(), Gate())
    target.async {
      isBlocked.open()
      gate.wait()
    }
    await isBlocked.opened()
    event.addHandler(.named("billing"), on: .queue(queue)) { _ in }
    event.post(1)
    watch.look(3)
    #expect(watch.found.values.map(\.kind) == [.blockedLane])
    gate.open()
    await event.quiesce()
  }
}
