import Dispatch
import Eventing
import Testing

// Tests of the number of occurrences that wait on a lane, or in the buffer of a sequence.

extension SnapshotTests {
  @Test(arguments: BoundedLane.allCases, [Buffering.unbounded, .oldest(8)])
  func waitingOccurrencesAreCounted(lane: BoundedLane, buffering: Buffering) async {
    let (event, begun, gate) = (Event<Int>(), Gate(), Gate())
    event.add(lane.handler(buffering, until: gate) { (_: Int) in begun.open() })
    #expect(await event.handlers().map(\.waitingCount) == [0])
    event.post(0)
    await begun.opened()
    let running = await event.handlers()[0]
    #expect(running.callCount == 1 && running.waitingCount == 0)
    for number in 1...5 { event.post(number) }
    let waiting = lane == .concurrent ? (2...5) : (5...5)  // up to four calls run
    #expect(await waiting.contains(event.handlers()[0].waitingCount))
    gate.open()
    await event.quiesce()
    let ended = await event.handlers()[0]
    #expect(ended.callCount == 6 && ended.waitingCount == 0)
  }

  @Test(arguments: BoundedLane.allCases) func nothingWaitsAfterABarrier(lane: BoundedLane) async {
    for buffering in [Buffering.unbounded, .oldest(8)] {
      let event = Event<Int>()
      event.add(lane.handler(buffering, until: .open) { (_: Int) in })
      for _ in 0..<100 {
        for number in 0..<3 { event.post(number) }
        await event.quiesce()
        #expect(await event.handlers().map(\.waitingCount) == [0])
      }
    }
  }

  @Test func barriersAreNotCounted() async {
    let (event, begun, gate) = (Event<Int>(), Gate(), Gate())
    event.addHandler { (_: Int) async in
      begun.open()
      await gate.opened()
    }
    for number in 0..<3 { event.post(number) }
    await begun.opened()
    let tasks = (0..<4).map { _ in Task { await event.quiesce() } }
    for _ in 0..<200 {
      #expect(await event.handlers().map(\.waitingCount) == [2])
      await Task.yield()
    }
    gate.open()
    for task in tasks { await task.value }
  }

  @Test(arguments: BoundedLane.allCases) func occurrencesOfAPausedLaneWait(lane: BoundedLane) async {
    for buffering in [Buffering.unbounded, .oldest(8)] {
      let (event, begun, gate) = (Event<Int>(), Gate(), Gate())
      let token = event.add(lane.handler(buffering, until: gate) { (_: Int) in begun.open() })
      for number in 0..<8 { event.post(number) }
      await begun.opened()
      event.lockAll(where: .oneOf([token]), holding: .oldest(8))
      event.post(8)
      gate.open()
      await event.quiesce()
      let paused = await event.handlers()[0]
      #expect(paused.callCount + paused.waitingCount == 8 && paused.heldCount == 1)
      event.unlockAll(where: .oneOf([token]))
      await event.quiesce()
      let ended = await event.handlers()[0]
      #expect(ended.callCount == 9 && ended.waitingCount == 0)
    }
  }

  @MainActor @Test func aCallAtOnceOnTheMainQueueDoesNotWait() async {
    let event = Event<Int>()
    event.addHandler(on: .main) { number in if number > 0 { event.post(number - 1) } }
    for round in 1...10 {
      for number in 0..<3 { event.post(number) }
      // One `quiesce` does not wait for the occurrences that handlers post meanwhile.
      while await event.handlers()[0].callCount < 6 * round { await event.quiesce() }
      #expect(await event.handlers().map(\.waitingCount) == [0])
    }
  }

  @MainActor @Test func callsAtOnceAreNotTakenForWaitingOnes() async {
    let (event, seen) = (Event<Int>(), Recorder<Int>())
    event.addHandler(on: .main) { _ in }
    for number in 0..<10 { event.post(number) }
    /// Blocks the main queue while another thread posts and reads the snapshots.
    func blockMainQueue() {
      let done = Gate()
      Task.detached {
        for number in 0..<5 { event.post(number) }
        await seen.record(event.handlers()[0].waitingCount)
        done.open()
      }
      done.wait()
    }
    blockMainQueue()
    #expect(seen.values == [5])
    await event.quiesce()
  }

  @Test func skippedAndDroppedOccurrencesDoNotWait() async {
    let (event, begun, gate, live) = (Event<Int>(), Gate(), Gate(), LiveCount())
    var owner: Owner? = Owner(live)
    event.add(BoundedLane.inOrder.handler(.oldest(2), until: gate) { (_: Int) in begun.open() }.owned(by: owner!))
    for number in 0..<6 { event.post(number) }
    await begun.opened()
    for number in 0..<6 { event.post(number) }
    let full = await event.handlers()[0]
    #expect(full.waitingCount == 2 && full.droppedCount >= 6)
    owner = nil
    gate.open()
    await event.quiesce()
    #expect(await event.handlers().isEmpty)
  }

  @Test func aLaneThatEndsStillCounts() async {
    let (event, begun, gate) = (Event<Int>(), Gate(), Gate())
    let token = event.addHandler(.named("a")) { (number: Int) async throws in
      begun.open()
      await gate.opened()
      if number < 3 { throw Problem() }
    }
    event.lock(token)
    event.post(0)
    event.unlock(token)
    for number in 1...5 { event.post(number) }
    await begun.opened()
    event.finish()
    let ending = await event.handlers()[0]
    #expect(ending.waitingCount == 4 && ending.callCount == 1 && ending.skippedCount == 1)
    gate.open()
    await event.quiesce()
  }

  @Test func payloadsThatNoIteratorHasTakenWait() async {
    for buffering in [Buffering.unbounded, .oldest(8)] {
      let event = Event<Int>()
      let payloads = event.payloads(buffering: buffering)
      for number in 0..<3 { event.post(number) }
      #expect(await event.handlers().map(\.waitingCount) == [3])
      var iterator = payloads.makeAsyncIterator()
      for number in 0..<3 { #expect(await iterator.next(isolation: nil) == number) }
      #expect(await event.handlers().map(\.waitingCount) == [0])
      event.post(3)
      #expect(await event.handlers().map(\.waitingCount) == [1])
    }
  }
}
