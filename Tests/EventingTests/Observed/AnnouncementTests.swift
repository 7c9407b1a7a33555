import Eventing
import EventingTesting
import Testing

/// Tests that no change of an observed value is lost to its announcement (`.prior`).
@Suite(.fewAtATime, .timeLimit(.minutes(30))) struct AnnouncementTests {
  @Test(arguments: [
    (Buffering.oldest(1), ["0 → 1"]), (.oldest(2), ["before 0 → 1", "0 → 1"]),
    (.oldest(3), ["before 0 → 1", "0 → 1", "1 → 2"]), (.latest, ["1 → 2"]), (.newest(4), ["0 → 1", "1 → 2"]),
    (.unbounded, ["before 0 → 1", "0 → 1", "before 1 → 2", "1 → 2"]),
  ]) func aLockHoldsAnAnnouncementOnlyWithItsChange(holding: Buffering, expected: [String]) {
    let (volume, heard, others) = (Observed(0), Recorder<String>(), Recorder<String>())
    let token = volume.addHandler(options: [.prior, .old, .new]) { heard.record("\($0)") }
    let other = volume.addHandler { others.record("\($0)") }  // hears no announcements, and keeps no room for them
    volume.lock(token, holding: holding)
    volume.lock(other, holding: .oldest(2))
    volume.value = 1
    volume.value = 2
    volume.unlock(token)
    volume.unlock(other)
    #expect(heard.values == expected)
    #expect(others.values == ["0 → 1", "1 → 2"])
  }

  @Test func aHandlerWithABoundOrOneCallHearsTheChange() async {
    let (volume, gate) = (Observed(0), Gate())
    let (bounded, once) = (Recorder<String>(), Recorder<String>())
    volume.addHandler(options: [.prior, .old, .new], on: .inOrder(buffering: .oldest(1))) { change async in
      bounded.record("\(change)")
      await gate.opened()
    }
    volume.addHandler(options: [.prior, .old, .new], once: true) { once.record("\($0)") }
    volume.value = 1
    #expect(await eventually { bounded.count == 1 })
    volume.value = 2
    volume.value = 3  // no room
    gate.open()
    await volume.quiesce()
    #expect(bounded.values == ["0 → 1", "1 → 2"])
    #expect(once.values == ["0 → 1"])
  }

  @Test func aThrottledHandlerHearsTheFirstChangeAtOnce() async {
    let (volume, clock, heard) = (Observed(0), ManualClock(), Recorder<String>())
    volume.changes([.prior, .old, .new]).add(
      Handler { heard.record("\($0)") }.throttled(every: .seconds(1), clock: clock))
    volume.value = 1
    #expect(heard.values == ["0 → 1"])
  }
}
