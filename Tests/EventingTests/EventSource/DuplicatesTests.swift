import Dispatch
import Eventing
import Testing

/// Tests of guarantee H12 of PROOF.md: views without duplicates.
@Suite(.fewAtATime) struct DuplicatesTests {
  @Test func onlyChangesArrive() async {
    let (event, seen) = (Event<Int>(), Recorder<Int>())
    event.removeDuplicates().addHandler { seen.record($0) }
    for number in [1, 1, 2, 2, 1] { event.post(number) }
    #expect(seen.values == [1, 2, 1])
    let report = await event.send(1)
    #expect(report.skipped == 1 && report.delivered == 0)
  }

  @Test func eachHandlerComparesForItself() {
    let (event, first, second) = (Event<Int>(), Recorder<Int>(), Recorder<Int>())
    let view = event.removeDuplicates()
    view.addHandler { first.record($0) }
    event.post(1)
    view.addHandler { second.record($0) }
    event.post(1)
    event.post(2)
    #expect(first.values == [1, 2] && second.values == [1, 2])
  }

  @Test func aRuleOfOnesOwnIsAskedWithTheLastPayloadThatCame() {
    let (event, seen) = (Event<Int>(), Recorder<Int>())
    event.removeDuplicates { abs($0 - $1) < 3 }.addHandler { seen.record($0) }
    for number in [0, 2, 3, 5, 6] { event.post(number) }
    #expect(seen.values == [0, 3, 6])
  }

  @Test func whatALockSkippedIsNotRemembered() {
    let (event, seen) = (Event<Int>(), Recorder<Int>())
    let token = event.removeDuplicates().addHandler { seen.record($0) }
    event.post(1)
    event.lock(token)
    event.post(2)
    event.unlock(token)
    event.post(1)
    event.post(2)
    #expect(seen.values == [1, 2])
  }

  @Test func aDuplicateUsesUpNoOnceHandlerAndOwnersEndIt() {
    final class Owner: Sendable {}
    let (event, seen) = (Event<Int>(), Recorder<String>())
    var owner: Owner? = Owner()
    if let owner { event.removeDuplicates().addHandler(owner: owner) { _, number in seen.record("owned \(number)") } }
    event.removeDuplicates { $1 == 1 || $0 == $1 }.once { seen.record("once \($0)") }
    event.post(1)
    event.post(1)
    owner = nil
    event.post(2)
    #expect(seen.values == ["owned 1", "once 1"] && event.handlerCount == 0)
  }

  @Test func onALaneTheOrderStands() async {
    let (event, seen) = (Event<Int>(), Recorder<Int>())
    event.removeDuplicates().addHandler(on: .background) { seen.record($0) }
    for number in 0..<1_000 { event.post(number / 10) }
    await event.quiesce()
    #expect(seen.values == Array(0..<100))
  }

  @Test func threadsThatPostFindNoTwoEqualPayloadsInARow() async {
    let (event, seen) = (Event<Int>(), Recorder<Int>())
    event.removeDuplicates().addHandler { seen.record($0) }
    await onThreads(4) { index in for _ in 0..<5_000 { event.post(index % 2) } }
    await event.quiesce()
    #expect(!seen.values.isEmpty && zip(seen.values, seen.values.dropFirst()).allSatisfy { $0 != $1 })
  }

  @Test func whatALaneSkippedIsNotRemembered() async {
    let (event, seen, queue) = (Event<Int>(), Recorder<Int>(), DispatchQueue(label: "test"))
    let token = event.removeDuplicates().addHandler(on: .queue(queue)) { seen.record($0) }
    queue.suspend()
    event.post(1)
    event.lock(token)
    queue.resume()
    await event.quiesce()
    event.unlock(token)
    event.post(1)
    event.post(1)
    await event.quiesce()
    #expect(seen.values == [1])
  }

  @Test(arguments: [Buffering.oldest(1), .newest(1)]) func whatALaneDroppedIsNotRemembered(buffering: Buffering) async {
    let (event, seen, queue) = (Event<Int>(), Recorder<Int>(), DispatchQueue(label: "test"))
    event.removeDuplicates().addHandler(.buffering(buffering), on: .queue(queue)) { seen.record($0) }
    queue.suspend()
    event.post(1)
    event.post(2)
    queue.resume()
    await event.quiesce()
    for _ in 0..<3 {
      event.post(2)
      await event.quiesce()
    }
    #expect(seen.values.last == 2 && seen.values.filter { $0 == 2 }.count <= 2)
  }

  @Test func anErrorIsRememberedAndAFilterBehindTheViewIsNot() async {
    struct Problem: Error {}
    let (event, seen) = (Event<Int>(), Recorder<Int>())
    event.removeDuplicates().addHandler { number in
      seen.record(number)
      throw Problem()
    }
    event.post(1)
    event.post(1)
    #expect(seen.values == [1])
    let (other, even) = (Event<Int>(), Recorder<Int>())
    other.removeDuplicates().filter { $0 % 2 == 0 }.addHandler { even.record($0) }
    for number in [2, 3, 2, 4] { other.post(number) }
    #expect(even.values == [2, 4])
  }
}

#if DEBUG
  extension SyncPointTests {
    @Test func aHoldingLockBesideAViewWithoutDuplicatesLosesNothing() async {
      let (event, seen, hold, owner) = (Event<Int>(), Recorder<Int>(), Hold(at: .claiming), Owner(LiveCount()))
      let token = event.removeDuplicates().addHandler(owner: owner) { _, number in seen.record(number) }
      let poster = startThread { hold.during { event.post(5) } }
      await hold.reached.opened()
      event.lock(token, holding: .oldest(100))
      hold.release()
      await poster.opened()
      #expect(seen.values == [])
      event.unlock(token)
      await event.quiesce()
      #expect(seen.values == [5])
    }
  }
#endif
