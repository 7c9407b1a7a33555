import Eventing
import Testing

#if DEBUG
  extension SyncPointTests {
    /// One thread makes the source `event.unhandled`, and is held before it closes the fast path.
    /// Meanwhile another thread adds a handler to that source. The handler must receive the next
    /// post.
    @Test func aSecondUserOfUnheardMissesNothingWhileTheFirstOneStandsStill() async {
      let (event, seen) = (Event<Int>(), Recorder<Int>())
      let (inside, gate, hold) = (Gate(), Gate(), Hold(at: .foundBusy))
      event.once { _ in
        inside.open()
        gate.wait()
      }
      let poster = startThread { event.post(1) }
      await inside.opened()
      let first = startThread { hold.during { _ = event.unhandled } }
      await hold.reached.opened()
      gate.open()
      await poster.opened()
      event.unhandled.addHandler { seen.record($0.payload) }
      event.post(2)
      await event.quiesce()
      #expect(seen.values == [2])
      hold.release()
      await first.opened()
    }
  }
#endif
