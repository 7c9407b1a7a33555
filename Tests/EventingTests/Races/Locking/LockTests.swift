import Dispatch
import Eventing
import Testing

/// Tests of guarantee G9: a locked handler is not called.
@Suite(.fewAtATime) struct LockTests {
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

  @Test(arguments: LaneDelivery.allCases) func aLockedHandlerOnALaneIsSkippedUntilItIsUnlocked(delivery: LaneDelivery)
    async
  {
    let event = Event<Int>()
    let count = Recorder<Int>()
    let queue = DispatchQueue(label: "test")
    let token = event.add(delivery.handler(queue) { count.record(1) })
    event.lock(token)
    #expect(await event.send(1).skipped == 1)
    #expect(count.count == 0)
    event.unlock(token)
    #expect(await event.send(2).delivered == 1)
    #expect(count.count == 1)
  }

  @Test func aHandlerLockedByAnEarlierHandlerOfThatOccurrenceIsSkipped() async {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    let later = ConditionLock<HandlerToken?>(nil)
    event.addHandler { [weak event] _ in if let token = later.withLock({ $0 }) { event?.lock(token) } }
    later.withLock { $0 = event.addHandler { seen.record($0) } }
    let report = await event.send(1)
    #expect(report.delivered == 1)
    #expect(report.skipped == 1)
    #expect(seen.values == [])
  }

  @Test func aHandlerUnlockedByAnEarlierHandlerOfThatOccurrenceIsCalled() async {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    let later = ConditionLock<HandlerToken?>(nil)
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
    #expect(!event.isLocked(token))
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

  @Test func anOccurrenceSentWhileItsHandlerIsLockedIsNotQueuedOnTheLane() async {
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

  @Test func aHandlerLockedOnItsOwnQueueIsNotCalledForQueuedOccurrences() async {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    let queue = DispatchQueue(label: "test")
    let own = ConditionLock<HandlerToken?>(nil)
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

  @Test func withLockedLocksAHandlerForItsLength() async {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    let token = event.addHandler { seen.record($0) }
    event.post(0)
    let result = await event.withLocked(token) {
      #expect(event.isLocked(token))
      #expect(await event.send(1).skipped == 1)
      return 7
    }
    #expect(result == 7)
    #expect(!event.isLocked(token))
    event.post(2)
    #expect(seen.values == [0, 2])
  }

  @Test func aHandlerIsUnlockedWhenTheLastOfOverlappingWithLockedEnds() async {
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
    #expect(!event.isLocked(token))
    #expect(await event.send(1).delivered == 1)
  }

  // MARK: Independent locks

  @Test func unlockingDoesNotEndAWithLocked() async {
    let event = Event<Int>()
    let token = event.addHandler { _ in }
    await event.withLocked(token) {
      event.lock(token)
      event.unlock(token)
      #expect(event.isLocked(token))
      #expect(await event.send(1).skipped == 1)
    }
    #expect(await event.send(2).delivered == 1)
  }

  @Test func theEndOfAWithLockedDoesNotEndALock() async {
    let event = Event<Int>()
    let token = event.addHandler { _ in }
    await event.withLocked(token) { _ = event.lock(token) }
    #expect(event.isLocked(token))
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
    #expect(!event.isLocked(token))
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
    #expect(event.isLocked(token))
    let report = await event.send(1)
    #expect(report.delivered == 1)
    #expect(report.skipped == 1)
  }
}

private struct Refusal: Error {}
