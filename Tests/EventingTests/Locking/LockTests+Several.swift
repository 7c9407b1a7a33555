import Dispatch
import Eventing
import Synchronization
import Testing

extension LockTests {
  // MARK: The event lock

  enum SecondLock: CaseIterable, Sendable { case own, scope, event }

  /// Begins and ends two locks while the event is busy, and posts during the second one.
  @Test(arguments: SecondLock.allCases) func theEndOfALockOfABusyEventEndsNoLaterLock(second: SecondLock) async {
    let (event, calls, begun, gate) = (Event<Int>(), Recorder<Int>(), Gate(), Gate())
    event.addHandler(.priority(1)) { number in
      guard number == 0 else { return }
      begun.open()
      gate.wait()
    }
    let token = event.addHandler { calls.record($0) }
    let busy = Task { await onThread { event.post(0) } }
    await begun.opened()
    event.lock(token, holding: .oldest(9))
    event.post(1)
    event.unlock(token)
    switch second {
    case .own:
      event.lock(token)
      event.post(2)
      event.unlock(token)
    case .scope: await event.withLocked(token) { event.post(2) }
    case .event:
      event.lock()
      event.post(2)
      event.unlock()
    }
    event.post(3)
    event.unlock(token)
    event.post(4)
    gate.open()
    await busy.value
    await event.quiesce()
    // 0 and 1 are skipped: the event delivers them when the second lock, which holds nothing, has
    // begun.
    #expect(calls.values == [3, 4])
    #expect(await event.handlers().map(\.isLocked) == [false, false])
    event.post(5)
    await event.quiesce()  // the thread that read `handlers` may still be inside the event
    #expect(calls.values.last == 5)
  }

  @Test func aLockedEventSkipsAllItsHandlersAndTheOnesAddedLater() async {
    let event = Event<Int>()
    let seen = Recorder<String>()
    let owner = Owned()
    event.addHandler { _ in seen.record("inline") }
    event.lock()
    event.addHandler { _ in seen.record("later") }
    event.addHandler(.named("name"), .priority(1)) { _ in seen.record("named") }
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

  @Test func aHandlerWhoseAddIsQueuedIsSkippedUnderTheEventLock() async {
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

  @Test func theEventLockSkipsOccurrencesQueuedOnALane() async {
    let event = Event<Int>()
    let queue = DispatchQueue(label: "test")
    event.addHandler(on: .queue(queue)) { _ in }
    queue.suspend()
    let ticket = event.submit(1)
    event.lock()
    queue.resume()
    #expect(await ticket.report.skipped == 1)
  }

  @Test func anEventLockedByAHandlerSkipsTheLaterHandlersOfThatOccurrence() async {
    let event = Event<Int>()
    event.addHandler { [weak event] _ in event?.lock() }
    event.addHandler { _ in }
    let report = await event.send(1)
    #expect(report.delivered == 1)
    #expect(report.skipped == 1)
  }

  // MARK: Several handlers

  @Test func lockingByNameTagOrOwnerActsOnAllMatchesAndReturnsTheirNumber() async {
    let event = Event<Int>()
    let owner = Owned()
    event.addHandler(.named("a")) { _ in }
    event.addHandler(.named("a")) { _ in }
    event.addHandler(.named("b")) { _ in }
    event.addHandler(.tagged("io")) { _ in }
    event.addHandler(owner: owner) { _, _ in }
    let plain = [event.addHandler { _ in }, event.addHandler { _ in }]
    #expect(await event.send(0).delivered == 7)
    #expect(event.lockAll(where: .named("a")) == 2)
    #expect(await event.send(1).skipped == 2)
    #expect(event.lockAll(where: .named("b", "none")) == 1)
    #expect(event.lockAll(where: .tagged("io")) == 1)
    #expect(event.lockAll(where: .ownedBy(owner)) == 1)
    #expect(event.lockAll(where: .oneOf(plain)) == 2)
    #expect(await event.send(2).skipped == 7)
    #expect(event.unlockAll(where: .named("a")) == 2)
    #expect(event.unlockAll(where: .named("b")) == 1)
    #expect(event.unlockAll(where: .tagged("io")) == 1)
    #expect(event.unlockAll(where: .ownedBy(owner)) == 1)
    #expect(event.unlockAll(where: .oneOf(plain)) == 2)
    #expect(await event.send(3).delivered == 7)
    withExtendedLifetime(owner) {}
  }

  @Test func lockAllLocksPresentHandlersAndNoneAddedLater() async {
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
      overlaps.suffice(1_000) && lates.count > 1_000 && window.calls.load(ordering: .relaxed) > 500
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

  @Test func aPostAfterAnUnlockReachesTheHandlerUnderRacingPosters() async {
    let event = Event<Int>()
    let overlaps = Overlaps()
    let missed = Atomic<Int>(0)
    let last = Atomic<Int>(0)
    let token = event.addHandler { number in if number < 0 { last.store(number, ordering: .relaxed) } }
    await onThreads(3, until: { overlaps.suffice(1_000) }) { thread, round in
      guard thread == 0 else { return overlaps.during { event.post(round) } }
      overlaps.during { _ = event.lock(token) }
      overlaps.during { _ = event.unlock(token) }
      overlaps.during { event.post(-1 - round) }
      let deadline = ContinuousClock.now.advanced(by: .seconds(200))
      while last.load(ordering: .relaxed) != -1 - round, ContinuousClock.now < deadline { giveWay() }
      if last.load(ordering: .relaxed) != -1 - round { missed.wrappingAdd(1, ordering: .relaxed) }
    }
    #expect(missed.load(ordering: .relaxed) == 0)
    #expect(overlaps.count > 100)
  }

  @Test func theEventLockCoversHandlersThatAreAddedMeanwhile() async {
    let event = Event<Int>()
    let overlaps = Overlaps()
    let isSilent = Atomic<Bool>(false)
    let calls = Atomic<Int>(0)
    let lates = Recorder<Int>()
    let late = Atomic<Int>(0)
    await onThreads(2, until: { overlaps.suffice(500) && lates.count > 1_000 && calls.load(ordering: .relaxed) > 500 })
    {
      thread, round in
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
