import Dispatch
import Eventing
import Synchronization
import Testing

/// G9: locked is silent.
@Suite(.timeLimit(.minutes(1))) struct LockTests {
  // MARK: One handler

  @Test func aLockedHandlerIsSkippedUntilItIsUnlocked() async {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    let token = event.addHandler { seen.record($0) }
    event.post(1)
    #expect(event.lock(token))
    let report = await event.send(2)
    #expect(report.skipped == 1)
    #expect(report.delivered == 0)
    #expect(event.unlock(token))
    #expect(await event.send(3).delivered == 1)
    #expect(seen.values == [1, 3])
  }

  @Test(arguments: LaneDelivery.allCases) func aLockedHandlerOnALaneIsSkippedUntilItIsUnlocked(delivery: LaneDelivery) async {
    let event = Event<Int>()
    let count = Recorder<Int>()
    let queue = DispatchQueue(label: "test")
    let token = event.attach(delivery.handler(queue) { count.record(1) })
    event.lock(token)
    #expect(await event.send(1).skipped == 1)
    #expect(count.count == 0)
    event.unlock(token)
    #expect(await event.send(2).delivered == 1)
    #expect(count.count == 1)
  }

  @Test func aHandlerLockedByAnEarlierOneOfTheSameOccurrenceIsSkipped() async {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    let later = Guarded<HandlerToken?>(nil)
    event.addHandler { [weak event] _ in if let token = later.withLock({ $0 }) { event?.lock(token) } }
    later.withLock { $0 = event.addHandler { seen.record($0) } }
    let report = await event.send(1)
    #expect(report.delivered == 1)
    #expect(report.skipped == 1)
    #expect(seen.values == [])
  }

  @Test func aHandlerUnlockedByAnEarlierOneOfTheSameOccurrenceIsCalled() async {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    let later = Guarded<HandlerToken?>(nil)
    event.addHandler { [weak event] _ in if let token = later.withLock({ $0 }) { event?.unlock(token) } }
    let token = event.addHandler { seen.record($0) }
    later.withLock { $0 = token }
    event.lock(token)
    #expect(await event.send(1).delivered == 2)
    #expect(seen.values == [1])
  }

  @Test func aLockedHandlerKeepsItsPlaceInTheOrder() {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    let tokens = (0..<3).map { number in event.addHandler { _ in seen.record(number) } }
    event.lock(tokens[1])
    event.post(1)
    event.addHandler { _ in seen.record(3) }
    event.unlock(tokens[1])
    event.post(2)
    #expect(seen.values == [0, 2, 0, 1, 2, 3])
  }

  @Test func lockingTwiceIsLockingOnce() async {
    let event = Event<Int>()
    let token = event.addHandler { _ in }
    event.lock(token)
    event.lock(token)
    event.unlock(token)
    #expect(event.isLocked(token) == false)
    #expect(await event.send(1).delivered == 1)
  }

  @Test func aHandlerLockedWhileItsAddIsQueuedIsSkipped() async {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    event.once { [weak event] _ in
      guard let event else { return }
      let token = event.addHandler { seen.record($0) }
      #expect(event.lock(token))
    }
    event.post(1)
    #expect(await event.send(2).skipped == 1)
    #expect(seen.values == [])
  }

  // MARK: On a lane

  @Test func aDeliveryQueuedOnALaneBeforeTheLockIsSkippedThere() async {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    let queue = DispatchQueue(label: "test")
    let token = event.addHandler(on: .queue(queue)) { seen.record($0) }
    queue.suspend()
    let ticket = event.submit(1)
    event.lock(token)
    queue.resume()
    #expect(await ticket.report.skipped == 1)
    #expect(seen.values == [])
  }

  @Test func whatIsSentWhileALaneIsLockedIsNotQueuedThere() async {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    let queue = DispatchQueue(label: "test")
    let token = event.addHandler(on: .queue(queue)) { seen.record($0) }
    queue.suspend()
    let before = event.submit(1)
    event.lock(token)
    let during = event.submit(2)
    event.unlock(token)
    let after = event.submit(3)
    queue.resume()
    #expect(await during.report.skipped == 1)
    #expect(await before.report.delivered == 1)
    #expect(await after.report.delivered == 1)
    #expect(seen.values == [1, 3])
  }

  @Test func lockedOnItsOwnQueueAHandlerIsNotCalledForWhatIsQueuedThere() async {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    let queue = DispatchQueue(label: "test")
    let own = Guarded<HandlerToken?>(nil)
    own.withLock {
      $0 = event.addHandler(on: .queue(queue)) { [weak event] value in
        seen.record(value)
        if let token = own.withLock({ $0 }) { event?.lock(token) }
      }
    }
    queue.suspend()
    for value in 1...10 { event.post(value) }
    queue.resume()
    await event.quiesce()
    #expect(seen.values == [1])
  }

  // MARK: withLocked

  @Test func withLockedSilencesAHandlerForItsLength() async {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    let token = event.addHandler { seen.record($0) }
    event.post(0)
    let result = await event.withLocked(token) {
      #expect(event.isLocked(token) == true)
      #expect(await event.send(1).skipped == 1)
      return 7
    }
    #expect(result == 7)
    #expect(event.isLocked(token) == false)
    event.post(2)
    #expect(seen.values == [0, 2])
  }

  @Test func ofOverlappingWithLockedTheLastThatEndsGivesTheHandlerItsVoiceBack() async {
    let event = Event<Int>()
    let token = event.addHandler { _ in }
    let (isInside, mayLeave) = (Gate(), Gate())
    await withTaskGroup { group in
      group.addTask {
        await event.withLocked(token) {
          isInside.open()
          await mayLeave.opened()
        }
      }
      await isInside.opened()
      await event.withLocked(token) { #expect(await event.send(1).skipped == 1) }
      #expect(await event.send(2).skipped == 1)
      mayLeave.open()
    }
    #expect(await event.send(3).delivered == 1)
  }

  @Test func withLockedEndsWhenItsBodyThrows() async {
    let event = Event<Int>()
    let token = event.addHandler { _ in }
    await #expect(throws: Refusal.self) { try await event.withLocked(token) { throw Refusal() } }
    #expect(event.isLocked(token) == false)
    #expect(await event.send(1).delivered == 1)
  }

  // MARK: The locks are apart

  @Test func unlockingDoesNotEndAWithLocked() async {
    let event = Event<Int>()
    let token = event.addHandler { _ in }
    await event.withLocked(token) {
      event.lock(token)
      event.unlock(token)
      #expect(event.isLocked(token) == true)
      #expect(await event.send(1).skipped == 1)
    }
    #expect(await event.send(2).delivered == 1)
  }

  @Test func theEndOfAWithLockedDoesNotEndALock() async {
    let event = Event<Int>()
    let token = event.addHandler { _ in }
    await event.withLocked(token) { _ = event.lock(token) }
    #expect(event.isLocked(token) == true)
    #expect(await event.send(1).skipped == 1)
  }

  @Test func unlockingAHandlerDoesNotEndTheLockOfTheEvent() async {
    let event = Event<Int>()
    let token = event.addHandler { _ in }
    event.lock()
    event.lock(token)
    event.unlock(token)
    event.unlockAll()
    #expect(event.isLocked)
    #expect(event.isLocked(token) == false)
    #expect(await event.send(1).skipped == 1)
  }

  @Test func unlockingTheEventDoesNotEndTheLocksOfItsHandlers() async {
    let event = Event<Int>()
    let token = event.addHandler { _ in }
    event.addHandler { _ in }
    event.lock(token)
    event.lock()
    event.unlock()
    #expect(!event.isLocked)
    #expect(event.isLocked(token) == true)
    let report = await event.send(1)
    #expect(report.delivered == 1)
    #expect(report.skipped == 1)
  }

  // MARK: The event

  @Test func aLockedEventSkipsAllItsHandlersAndThoseAddedLater() async {
    let event = Event<Int>()
    let seen = Recorder<String>()
    let owner = Owned()
    event.addHandler { _ in seen.record("inline") }
    event.lock()
    event.addHandler { _ in seen.record("later") }
    event.addHandler(named: "name", priority: 1) { _ in seen.record("named") }
    event.once { _ in seen.record("once") }
    event.addHandler(owner: owner) { _, _ in seen.record("owned") }
    event.addHandler(on: .background) { _ in seen.record("lane") }
    #expect(await event.send(1).skipped == 6)
    #expect(seen.values == [])
    event.unlock()
    #expect(await event.send(2).delivered == 6)
    #expect(seen.count == 6)
    withExtendedLifetime(owner) {}
  }

  @Test func aHandlerWhoseAddIsQueuedIsGatedByTheLockOfTheEvent() async {
    let event = Event<Int>()
    event.once { [weak event] _ in
      event?.addHandler { _ in }
      event?.lock()
    }
    event.post(1)
    #expect(await event.send(2).skipped == 1)
    event.unlock()
    #expect(await event.send(3).delivered == 1)
  }

  @Test func theLockOfTheEventSkipsWhatIsQueuedOnALane() async {
    let event = Event<Int>()
    let queue = DispatchQueue(label: "test")
    event.addHandler(on: .queue(queue)) { _ in }
    queue.suspend()
    let ticket = event.submit(1)
    event.lock()
    queue.resume()
    #expect(await ticket.report.skipped == 1)
  }

  @Test func anEventLockedByAHandlerSkipsTheLaterOnesOfTheSameOccurrence() async {
    let event = Event<Int>()
    event.addHandler { [weak event] _ in event?.lock() }
    event.addHandler { _ in }
    let report = await event.send(1)
    #expect(report.delivered == 1)
    #expect(report.skipped == 1)
  }

  // MARK: Several

  @Test func lockingByNameTagOrOwnerActsOnAllThatMatchAndSaysHowMany() async {
    let event = Event<Int>()
    let owner = Owned()
    event.addHandler(named: "a") { _ in }
    event.addHandler(named: "a") { _ in }
    event.addHandler(named: "b") { _ in }
    event.add(Handler { _ in }.tagged("io"))
    event.addHandler(owner: owner) { _, _ in }
    let plain = [event.addHandler { _ in }, event.addHandler { _ in }]
    #expect(await event.send(0).delivered == 7)
    #expect(event.lock(named: "a") == 2)
    #expect(await event.send(1).skipped == 2)
    #expect(event.lock(named: ["b", "none"]) == 1)
    #expect(event.lock(tagged: "io") == 1)
    #expect(event.lock(ownedBy: owner) == 1)
    #expect(event.lock(plain) == 2)
    #expect(await event.send(2).skipped == 7)
    #expect(event.unlock(named: "a") == 2)
    #expect(event.unlock(named: ["b"]) == 1)
    #expect(event.unlock(tagged: "io") == 1)
    #expect(event.unlock(ownedBy: owner) == 1)
    #expect(event.unlock(plain) == 2)
    #expect(await event.send(3).delivered == 7)
    withExtendedLifetime(owner) {}
  }

  @Test func lockAllLocksThoseThatAreThereAndNotThoseAddedLater() async {
    let event = Event<Int>()
    event.addHandler { _ in }
    event.addHandler { _ in }
    #expect(await event.send(0).delivered == 2)
    #expect(event.lockAll() == 2)
    event.addHandler { _ in }
    #expect(await event.send(1).skipped == 2)
    #expect(event.unlockAll() == 3)
    #expect(await event.send(2).delivered == 3)
  }

  // MARK: Races

  @Test func atMostOneCallOfAHandlerBeginsAfterItsLockReturned() async {
    let event = Event<Int>()
    let overlaps = Overlaps()
    let window = LockWindow()
    let lates = Recorder<Int>()
    let token = event.addHandler { _ in window.see() }
    let isEnough: @Sendable () -> Bool = {
      overlaps.count > 1_000 && lates.count > 2_000 && window.calls.load(ordering: .relaxed) > 500
    }
    await onThreads(3, until: isEnough) { thread, round in
      guard thread == 0 else { return overlaps.during { event.post(round) } }
      overlaps.during { _ = event.lock(token) }
      window.isSilent.store(true, ordering: .sequentiallyConsistent)
      for _ in 0..<round % 4 { event.post(-1) }
      window.isSilent.store(false, ordering: .sequentiallyConsistent)
      overlaps.during { _ = event.unlock(token) }
      lates.record(window.late.exchange(0, ordering: .relaxed))
    }
    await event.quiesce()
    #expect(lates.values.count { $0 > 1 } == 0)
    #expect(window.calls.load(ordering: .relaxed) > 50)
    #expect(overlaps.count > 100)
  }

  @Test func whatAThreadSendsAfterItUnlockedAHandlerReachesThatUnderRacingPosters() async {
    let event = Event<Int>()
    let overlaps = Overlaps()
    let missed = Atomic<Int>(0)
    let last = Atomic<Int>(0)
    let token = event.addHandler { number in if number < 0 { last.store(number, ordering: .relaxed) } }
    await onThreads(3, until: { overlaps.count > 1_000 }) { thread, round in
      guard thread == 0 else { return overlaps.during { event.post(round) } }
      overlaps.during { _ = event.lock(token) }
      overlaps.during { _ = event.unlock(token) }
      overlaps.during { event.post(-1 - round) }
      let deadline = ContinuousClock.now.advanced(by: .seconds(5))
      while last.load(ordering: .relaxed) != -1 - round, ContinuousClock.now < deadline { giveWay() }
      if last.load(ordering: .relaxed) != -1 - round { missed.wrappingAdd(1, ordering: .relaxed) }
    }
    #expect(missed.load(ordering: .relaxed) == 0)
    #expect(overlaps.count > 100)
  }

  @Test func theLockOfTheEventHoldsForHandlersThatAreAddedMeanwhile() async {
    let event = Event<Int>()
    let overlaps = Overlaps()
    let isSilent = Atomic<Bool>(false)
    let calls = Atomic<Int>(0)
    let lates = Recorder<Int>()
    let late = Atomic<Int>(0)
    await onThreads(2, until: { overlaps.count > 500 && lates.count > 1_000 && calls.load(ordering: .relaxed) > 500 }) { thread, round in
      if thread == 0 {
        overlaps.during { event.lock() }
        isSilent.store(true, ordering: .sequentiallyConsistent)
        for _ in 0..<round % 8 { event.post(round) }
        isSilent.store(false, ordering: .sequentiallyConsistent)
        overlaps.during { event.unlock() }
        lates.record(late.exchange(0, ordering: .relaxed))
      } else {
        let token = overlaps.during {
          event.addHandler { _ in
            calls.wrappingAdd(1, ordering: .relaxed)
            if isSilent.load(ordering: .sequentiallyConsistent) { late.wrappingAdd(1, ordering: .relaxed) }
          }
        }
        for _ in 0..<4 { event.post(round) }
        event.remove(token)
      }
    }
    #expect(lates.values.count { $0 > 1 } == 0)
    #expect(calls.load(ordering: .relaxed) > 0)
    #expect(overlaps.count > 50)
  }
}

private struct Refusal: Error {}

private final class Owned: Sendable {}

private final class LockWindow: Sendable {
  let isSilent = Atomic<Bool>(false)
  let late = Atomic<Int>(0)
  let calls = Atomic<Int>(0)

  func see() {
    calls.wrappingAdd(1, ordering: .relaxed)
    if isSilent.load(ordering: .sequentiallyConsistent) { late.wrappingAdd(1, ordering: .relaxed) }
  }
}
