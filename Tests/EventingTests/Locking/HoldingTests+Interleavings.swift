#if DEBUG
  import Synchronization
  import Testing

  @testable import Eventing

  extension HoldingTests {
    @Test func noHoldingBufferIsLeftBehind() {
      let event = Event<Int>()
      for round in 0..<10_000 {
        let token = event.addHandler { _ in }
        event.lock(token, holding: .latest)
        event.post(round)
        if round % 2 == 0 { event.unlock(token) }
        event.remove(token)
      }
      let isEmpty = event.core.rareState.holding.buffers.isEmpty
      #expect(isEmpty)
    }

    @Test func lockReasonsRememberLocksThatHaveEnded() {
      var lockReasons = LockReasons()
      var flags: UInt32 = 0
      for (lockReason, holding) in [(LockReason.handler, Buffering.latest), (.scope(1), nil), (.event, .oldest(2))] {
        flags = lockReason.begun(in: flags)
        lockReasons.begin(lockReason, holding)
        #expect(lockReasons.holding == holding)
      }
      let old = lockReasons.end(.event)
      #expect(lockReasons.holding == .oldest(2) && lockReasons.flags(flags) & HandlerFlags.eventLocked == 0)
      lockReasons.begin(.event, .latest)  // the new lock replaces the old one, which has ended but is not forgotten
      #expect(lockReasons.flags(flags) == flags)
      let (new, scope, again) = (lockReasons.end(.event), lockReasons.end(.scope(1)), lockReasons.end(.event))
      #expect(new != old && again == new)
      flags = lockReasons.flags(flags)
      // The end of the old lock does not end the new one. A second end of a lock changes nothing.
      let areOver = [
        lockReasons.forget(.event, old), lockReasons.forget(.event, new), lockReasons.forget(.scope(1), scope),
        lockReasons.forget(.event, again),
      ]
      #expect(areOver == [false, true, true, false])
      #expect(flags == HandlerFlags.locked && lockReasons.holding == .latest)
      _ = lockReasons.end(.handler)
      #expect(lockReasons.flags(flags) == 0)
    }
  }

  extension SyncPointTests {
    // MARK: 5. Unlock with held occurrences

    /// Thread D delivers 1. It has found the handler locked and is about to hold 1. Now the handler
    /// is unlocked, 2 is queued behind 1, and the handler may be locked again.
    @Test(arguments: [false, true]) func anOccurrenceAboutToBeHeldIsNotOvertaken(isLockedAgain: Bool) async {
      let (event, hold, seen) = (Event<Int>(), Hold(at: .holding), Recorder<Int>())
      let token = event.addHandler { seen.record($0) }
      event.lock(token, holding: .oldest(9))
      let d = startThread { hold.during { event.post(1) } }
      await hold.reached.opened()
      await onThread { event.unlock(token) }
      await onThread { event.post(2) }
      #expect(!event.isLocked(token) && seen.values == [])
      if isLockedAgain { event.lock(token, holding: .oldest(9)) }
      hold.release()
      await d.opened()
      await event.quiesce()
      #expect(seen.values == (isLockedAgain ? [] : [1, 2]))
      event.unlock(token)
      await event.send(3)  // a post could return before its delivery, if another thread is still inside
      #expect(seen.values == [1, 2, 3])
    }

    @Test func aLockBetweenTheCheckAndTheClaimHolds() async {
      let (event, hold, seen) = (Event<Int>(), Hold(at: .claiming), Recorder<Int>())
      let token = event.once { seen.record($0) }  // a once handler, because each of its calls is claimed
      let poster = startThread { hold.during { event.post(1) } }
      await hold.reached.opened()
      event.lock(token, holding: .latest)
      hold.release()
      await poster.opened()
      event.post(2)
      #expect(seen.values == [])
      event.unlock(token)
      #expect(seen.values == [2] && event.handlerCount == 0)
    }
  }

  extension Event {
    /// Whether a post to the idle event may take the fast path. Observers and a history prevent
    /// that.
    nonisolated var hasFastPath: Bool { core.stateWord.load(ordering: .relaxed) & CoreState.mustEnqueue == 0 }
  }

  extension SyncPointTests {
    /// On the main queue, a `.main` handler is called at once. If a lock holds the occurrence
    /// before that call, the occurrence keeps its context and its observers.
    @MainActor @Test func anOccurrenceHeldOnTheWayToAMainHandlerKeepsContextAndObservers() async {
      let carrying = EventContext.propagate(HoldingTests.$request)
      defer { carrying.end() }
      let (event, seen, notes) = (Event<Int>("e"), Recorder<String>(), ObserverTests.Notes())
      let token = event.addHandler(.named("a"), on: .main) { _ in seen.record(HoldingTests.request) }
      event.observe(with: notes)
      HoldingTests.$request.withValue("r") {
        var isLocked = false
        SyncPoints.watch({ edge in
          guard edge == .claiming, !isLocked else { return }
          isLocked = true
          event.lock(token, holding: .latest)
        }) {
          event.post(1)
        }
      }
      event.unlock(token)
      await event.quiesce()
      #expect(seen.values == ["r"])
      #expect(notes.lines.values.suffix(2) == ["began a 1", "ended a 1"])
    }
  }
#endif
