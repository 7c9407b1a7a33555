import Eventing
import Testing

#if DEBUG
  extension SyncPointTests {
    // MARK: 1. Leaving while another thread enqueues

    @Test(arguments: [SyncPoint.foundBusy, .queued]) func postThatFindsTheEventLeftDrainsTheQueueItself(
      point: SyncPoint
    ) async {
      // Thread D delivers 1. Thread T is held after it found the event busy, or after it enqueued 2
      // but before it set the bit `queued` of the core state. Meanwhile D leaves.
      let event = Event<Int>()
      let (inside, gate, hold) = (Gate(), Gate(), Hold(at: point))
      let (seen, onT) = (Recorder<Int>(), Recorder<Bool>())
      let t = ConditionLock<ThreadNumber?>(nil)
      event.addHandler { number in
        seen.record(number)
        if number == 1 {
          inside.open()
          gate.wait()
        } else {
          onT.record(t.withLock { $0 } == .current)
        }
      }
      let d = startThread { event.post(1) }
      await inside.opened()
      let poster = startThread {
        t.withLock { $0 = .current }
        hold.during { event.post(2) }  // the post found the event busy
      }
      await hold.reached.opened()
      gate.open()
      await d.opened()  // D has left meanwhile
      #expect(seen.values == [1])
      hold.release()
      await poster.opened()
      #expect(seen.values == [1, 2])
      #expect(onT.values == [true])
      #expect(await comesBack { await event.send(3) }?.sequence == 3)
    }

    @Test func theFirstHandlerOfAnEventReceivesAPostMadeBeforeAddingReturns() async {
      let (event, hold, seen) = (Event<Int>(), Hold(at: .leaving), Recorder<Int>())
      let poster = startThread { hold.during { event.post(0) } }
      await hold.reached.opened()
      let adder = startThread {
        var isPosted = false
        SyncPoints.watch({ point in
          if point == .foundBusy {
            hold.release()
            poster.wait()
          } else if point == .draining, !isPosted {
            isPosted = true
            event.post(1)  // enqueued behind the new handler, by the thread that adds it
          }
        }) {
          event.addHandler { seen.record($0) }
        }
      }
      await adder.opened()
      #expect(seen.values == [1])
    }

    @Test(arguments: [SyncPoint.foundBusy, .queued]) func addThatFindsTheEventLeftIsMadeByItsOwnThread(
      point: SyncPoint
    ) async {
      let event = Event<Int>()
      let (inside, gate, hold, seen) = (Gate(), Gate(), Hold(at: point), Recorder<Int>())
      event.addHandler { number in
        guard number == 1 else { return }
        inside.open()
        gate.wait()
      }
      let d = startThread { event.post(1) }
      await inside.opened()
      let adder = startThread {
        hold.during { event.addHandler { seen.record($0) } }
        event.post(2)
      }
      await hold.reached.opened()
      gate.open()
      await d.opened()
      hold.release()
      await adder.opened()
      #expect(seen.values == [2])
    }

    @Test func removalThatFindsTheEventLeftStillUnregistersTheHandler() async {
      let event = Event<Int>()
      let (inside, gate, hold, live) = (Gate(), Gate(), Hold(at: .foundBusy), LiveCount())
      event.addHandler { _ in
        inside.open()
        gate.wait()
      }
      let token: HandlerToken
      do {
        let canary = Canary(live)
        token = event.addHandler(.priority(1)) { _ in canary.sing() }
      }
      let d = startThread { event.post(1) }
      await inside.opened()
      let remover = startThread { hold.during { event.remove(token) } }
      await hold.reached.opened()
      gate.open()
      await d.opened()
      hold.release()
      await remover.opened()
      #expect(live.alive == 0)
      #expect(await comesBack { await event.send(2) }?.delivered == 1)
    }

    @Test func anOccurrenceQueuedDuringADrainComesBehindEarlierOnes() async {
      // While thread D delivers 1, thread T posts 2, so D cannot leave the event. Before D takes 2
      // out of the mailbox, thread T2 posts 3.
      let event = Event<Int>()
      let (inside, gate, hold, seen) = (Gate(), Gate(), Hold(at: .draining), Recorder<Int>())
      event.addHandler { number in
        seen.record(number)
        guard number == 1 else { return }
        inside.open()
        gate.wait()
      }
      let d = startThread { hold.during { event.post(1) } }
      await inside.opened()
      await startThread { event.post(2) }.opened()
      gate.open()
      await hold.reached.opened()
      await startThread { event.post(3) }.opened()
      #expect(seen.values == [1])
      hold.release()
      await d.opened()
      await comesBack { await event.quiesce() }
      #expect(seen.values == [1, 2, 3])
    }

    @Test func postBetweenTheLastDeliveryAndTheLeavingIsDelivered() async {
      let event = Event<Int>()
      let (hold, seen) = (Hold(at: .leaving), Recorder<Int>())
      event.addHandler { seen.record($0) }
      let d = startThread { hold.during { event.post(1) } }
      await hold.reached.opened()
      #expect(seen.values == [1])
      await startThread { event.post(2) }.opened()
      #expect(seen.values == [1])  // D is still inside
      hold.release()
      await d.opened()
      await comesBack { await event.quiesce() }
      #expect(seen.values == [1, 2])
    }

    @Test func finishIsEffectiveOnReturnForASecondThreadToo() async {
      let event = Event<Int>()
      let (inside, gate, hold, seen) = (Gate(), Gate(), Hold(at: .foundBusy), Recorder<Int>())
      event.addHandler { number in
        seen.record(number)
        guard number == 1 else { return }
        inside.open()
        gate.wait()
      }
      let d = startThread { event.post(1) }
      await inside.opened()
      let first = startThread { hold.during { event.finish() } }  // the end is not enqueued yet
      await hold.reached.opened()
      await startThread {
        event.finish()
        event.post(2)
      }.opened()
      hold.release()
      await first.opened()
      gate.open()
      await d.opened()
      await event.quiesce()
      #expect(seen.values == [1])
    }

    @Test func removalBetweenTheCheckAndTheClaimIsObeyed() async {
      let event = Event<Int>()
      let (hold, calls) = (Hold(at: .claiming), Counter())
      let token = event.once { _ in calls.add() }  // on every path, the delivery claims a once handler
      let poster = startThread { hold.during { event.post(1) } }
      await hold.reached.opened()
      #expect(event.remove(token))
      hold.release()
      await poster.opened()
      #expect(calls.value == 0)
    }

    @Test func lockBetweenTheCheckAndTheClaimIsObeyedAndUsesNoOnceHandlerUp() async {
      let event = Event<Int>()
      let (hold, calls) = (Hold(at: .claiming), Recorder<Int>())
      let token = event.once { calls.record($0) }
      let poster = startThread { hold.during { event.post(1) } }
      await hold.reached.opened()
      #expect(event.lock(token))
      hold.release()
      await poster.opened()
      #expect(calls.values == [])
      #expect(event.unlock(token))
      event.post(2)
      #expect(calls.values == [2])
    }
  }
#endif
