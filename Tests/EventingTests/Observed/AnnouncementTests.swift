import Eventing
import EventingTesting
import Testing

/// Tests that no change of an observed value is lost to its announcement (`.prior`).
@Suite(.fewAtATime) struct AnnouncementTests {
  @Test(arguments: [
    (Buffering.oldest(1), ["0 → 1"]), (.oldest(2), ["before 0 → 1", "0 → 1"]),
    (.oldest(3), ["before 0 → 1", "0 → 1", "1 → 2"]), (.latest, ["1 → 2"]), (.newest(4), ["0 → 1", "1 → 2"]),
    (.unbounded, ["before 0 → 1", "0 → 1", "before 1 → 2", "1 → 2"]),
  ]) func aLockHoldsAnAnnouncementOnlyWithItsChange(holding: Buffering, expected: [String]) {
    let (volume, heard, others) = (Observed(0), Recorder<String>(), Recorder<String>())
    let token = volume.changes(prior: true).addHandler { heard.record("\($0)") }
    // It hears no announcements, and keeps no room for them.
    let other = volume.changes().addHandler { others.record("\($0)") }
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
    volume.changes(prior: true).addHandler(.buffering(.oldest(1)), on: .inOrder) { change async in
      bounded.record("\(change)")
      await gate.opened()
    }
    volume.changes(prior: true).addHandler(.once) { once.record("\($0)") }
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
    volume.changes(prior: true).add(
      Handler(.throttled(every: .seconds(1), clock: clock)) { heard.record("\($0)") })
    volume.value = 1
    #expect(heard.values == ["0 → 1"])
  }
}
