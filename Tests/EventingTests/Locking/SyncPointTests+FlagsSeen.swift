import Dispatch
import Eventing
import Testing

#if DEBUG
  extension SyncPointTests {
    // MARK: 7. Other threads see a change whose call has not returned yet

    /// Thread T has locked the handler, or the event, and has not closed the fast path yet. If a
    /// send has found the lock, the next post must find the lock, too.
    @Test(arguments: [false, true], [nil, Buffering.oldest(9)]) func aLockThatOneSendFoundIsFoundByTheNextPost(
      isOfEvent: Bool, holding: Buffering?
    ) async {
      let (event, hold, seen) = (Event<Int>(), Hold(at: .noting), Recorder<Int>())
      let token = event.addHandler { seen.record($0) }
      event.post(0)  // opens the fast path
      let t = startThread {
        hold.during { if isOfEvent { event.lock(holding: holding) } else { event.lock(token, holding: holding) } }
      }
      await hold.reached.opened()
      await onThread { _ = event.submit(1) }
      await onThread { event.post(2) }
      #expect(seen.values == [0])
      hold.release()
      await t.opened()
      if isOfEvent { event.unlock() } else { event.unlock(token) }
      await event.quiesce()
      #expect(seen.values == (holding == nil ? [0] : [0, 1, 2]))
    }

    @Test func aLockThatOneSendToAKeyFoundIsFoundByTheNextPost() async {
      let (event, hold, seen) = (KeyedEvent<String, Int>(), Hold(at: .noting), Recorder<Int>())
      let token = event["k"].addHandler { seen.record($0) }
      event.post(0, to: "k")
      let t = startThread { hold.during { event.lock(token) } }
      await hold.reached.opened()
      await onThread { _ = event.submit(1, to: "k") }
      await onThread { event.post(2, to: "k") }
      #expect(seen.values == [0])
      hold.release()
      await t.opened()
    }

    /// The lane has skipped occurrence 1 because of a lock. So the post of 2 must find the lock,
    /// too: 2 is skipped, even if the handler is unlocked before the lane runs again.
    @Test func aLockThatALaneFoundIsFoundByTheNextPost() async {
      let (event, hold, seen) = (Event<Int>(), Hold(at: .noting), Recorder<Int>())
      let (inside, gate, queue) = (Gate(), Gate(), DispatchQueue(label: "lane"))
      let token = event.addHandler(on: .queue(queue)) {
        seen.record($0)
        guard $0 == 0 else { return }
        inside.open()
        gate.wait()
      }
      event.post(0)
      await inside.opened()
      let ticket = event.submit(1)
      let t = startThread { hold.during { event.lock(token) } }
      await hold.reached.opened()
      gate.open()
      let report = await ticket.report
      #expect(report.skipped == 1)
      await event.quiesce()
      await onThread { queue.sync {} }  // the block that ran the lane has ended
      queue.suspend()
      await onThread { event.post(2) }
      #expect(event.unlock(token))
      queue.resume()
      await event.quiesce()
      #expect(seen.values == [0])
      hold.release()
      await t.opened()
    }

    @Test(arguments: [false, true]) func aHandlerThatIsSeenToBeLockedIsNotCalled(isEventLocked: Bool) async {
      let (event, hold, seen) = (Event<Int>(), Hold(at: .noting), Recorder<Int>())
      let token = event.addHandler { seen.record($0) }
      event.post(0)
      let t = startThread { hold.during { if isEventLocked { event.lock() } else { event.lock(token) } } }
      await hold.reached.opened()
      await onThread {
        #expect(isEventLocked ? event.isLocked : event.isLocked(token))
        event.post(1)
      }
      #expect(seen.values == [0])
      hold.release()
      await t.opened()
    }

    /// Checks a post to a handler that a bag is removing. The bag does not enter the event, so the
    /// post may come at any step of the removal.
    @Test(arguments: [false, true]) func aHandlerThatIsSeenToBeGoneIsNotCalled(isCounted: Bool) async {
      let (event, hold, seen) = (Event<Int>(), Hold(at: .noting), Recorder<Int>())
      let token = event.addHandler { seen.record($0) }
      let bag = HandlerBag()
      token.store(in: bag)
      event.post(0)
      let t = startThread { hold.during { bag.removeAll() } }
      await hold.reached.opened()
      await onThread {
        #expect(isCounted ? event.handlerCount == 0 : !event.contains(token))
        event.post(1)
      }
      #expect(seen.values == [0])
      hold.release()
      await t.opened()
    }
  }
#endif
