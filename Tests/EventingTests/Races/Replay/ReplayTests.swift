import Eventing
import Testing

/// Tests of replay: the earlier payloads that a new handler receives.
@Suite(.fewAtATime) struct ReplayTests {
  @Test(arguments: [(-1, []), (0, []), (1, [5]), (3, [3, 4, 5]), (9, [1, 2, 3, 4, 5])])
  func theLastPayloadsAreReplayedWithTheirNumbersBeforeAnythingElse(count: Int, told: [Int]) async {
    let event = Event<Int>("history", replaying: .last(count))
    let seen = Recorder<String>()
    for number in 1...5 { event.post(number) }
    event.occurrences.addHandler { seen.record("\($0.sequence): \($0.payload)") }
    #expect(seen.values == told.map { "\($0): \($0)" })
    #expect(await event.send(6).delivered == 1)
    #expect(seen.values == (told + [6]).map { "\($0): \($0)" })
    #expect(event.latest == 6)
    #expect(await event.handlers().first?.callCount == told.count + 1)
  }

  /// An occurrence that is kept from the handlers that follow is kept from later ones, too.
  @Test(arguments: [1, 3], [FailurePolicy.collect, .skipLaterHandlers]) func aStoppedOccurrenceIsNotReplayed(
    count: Int, policy: FailurePolicy
  ) async {
    struct Refusal: Error {}
    let event = Event<Int>("history", replaying: .last(count), onFailure: policy)
    if policy == .skipLaterHandlers {
      event.addHandler { (number: Int) throws in if number < 0 { throw Refusal() } }
    } else {
      event.intercept { $0 < 0 ? .stop : .proceed }
    }
    event.post(1)
    event.post(2)
    event.post(-3)
    _ = event.submit(4)
    await event.send(-5)
    let seen = Recorder<String>()
    event.occurrences.addHandler { seen.record("\($0.sequence): \($0.payload)") }
    #expect(seen.values == ["1: 1", "2: 2", "4: 4"].suffix(count))
    #expect(event.latest == -5)
  }

  @Test func aCurrentValueIsReplayedUntilTheFirstSend() {
    let (volume, seen) = (Event("volume", replaying: .current(0.5)), Recorder<Double>())
    #expect(volume.latest == 0.5)
    volume.addHandler { seen.record($0) }
    volume.post(0.7)
    volume.addHandler { seen.record(-$0) }
    #expect(seen.values == [0.5, 0.7, -0.7])
    #expect(volume.latest == 0.7)
    #expect(Event<Int>().latest == nil && Event<Int>(replaying: .none).latest == nil)
  }

  @Test(arguments: BoundedLane.allCases) func aLaneReceivesReplayedPayloadsInOrder(lane: BoundedLane) async {
    let (event, seen) = (Event<Int>(replaying: .last(3)), Recorder<Int>())
    for number in 1...5 { event.post(number) }
    event.add(lane.handler(.unbounded, until: .open) { seen.record($0) })
    event.post(6)
    await event.quiesce()
    #expect(seen.values == [3, 4, 5, 6])
  }

  @Test func aSequenceThatSuspendsSendersReceivesAllReplayedPayloads() async {
    let event = Event<Int>(replaying: .last(5))
    for number in 1...5 { event.post(number) }
    let payloads = event.payloads(buffering: .suspendingSender(2))
    event.add(
      Handler(.buffering(.suspendingSender(2)), .named("lane"), on: .background) { (_: Int) in })
    event.post(6)  // finds no room
    event.finish()
    var seen: [Int] = []
    for await number in payloads { seen.append(number) }
    #expect(seen == [1, 2, 3, 4, 5])
  }

  @Test func sequencesViewsForwardsAndNextReceiveReplayedPayloads() async throws {
    let (event, copy, seen) = (Event<Int>(replaying: .last(2)), Event<Int>(), Recorder<Int>())
    copy.addHandler { seen.record($0) }
    for number in 1...3 { event.post(number, from: copy) }
    let payloads = event.map { -$0 }.payloads()
    event.forward(to: copy)
    #expect(seen.values == [2, 3])
    event.post(4)
    #expect(await SequenceTests.take(3, of: payloads) == [-2, -3, -4])
    #expect(try await event.next() == 3)
  }

  @Test func aReplayedPayloadUsesAOnceHandlerUp() async {
    let (event, seen) = (Event<Int>(replaying: .last(3)), Recorder<Int>())
    for number in 1...3 { event.post(number) }
    event.once { seen.record($0) }
    #expect(seen.values == [1])
    #expect(event.handlerCount == 0)
    event.once(on: .background) { seen.record($0 * 10) }
    await event.quiesce()
    #expect(seen.values == [1, 10])
    #expect(event.handlerCount == 0)
  }

  @Test func aLockedEventSkipsReplayedPayloads() async {
    let (event, seen) = (Event<Int>(replaying: .last(3)), Recorder<Int>())
    event.post(1)
    event.lock()
    event.addHandler { seen.record($0) }
    event.unlock()
    event.post(2)
    #expect(seen.values == [2])
    #expect(await event.handlers().map(\.skippedCount) == [1])
  }

  @Test func aQueuedPayloadIsTheLatest() async {
    let (event, inside, gate) = (Event<Int>(replaying: .last(1)), Gate(), Gate())
    event.addHandler { _ in
      inside.open()
      gate.wait()
    }
    let poster = startThread { event.post(1) }
    await inside.opened()
    event.post(2)
    let seen = Recorder<Int>()
    event.addHandler { seen.record($0) }  // this handler is enqueued behind payload 2, so 2 is its replay value
    event.post(3)
    #expect(event.latest == 3)
    gate.open()
    await poster.opened()
    await event.quiesce()
    #expect(seen.values == [2, 3])
  }

  @Test func aHandlerMayDoAnythingDuringReplay() async {
    let (event, seen) = (Event<Int>(replaying: .last(2)), Recorder<String>())
    event.post(1)
    event.post(2)
    event.addHandler { [weak event] number in
      seen.record("a \(number)")
      if number == 1 { event?.post(3) }
      if number == 2 { event?.addHandler { seen.record("b \($0)") } }
    }
    #expect(seen.values == ["a 1", "a 2", "a 3", "b 2", "b 3"])
    event.removeAll()
    event.addHandler { [weak event] number in
      seen.record("c \(number)")
      event?.removeAll()
    }
    #expect(seen.values.suffix(1) == ["c 2"])
    #expect(event.handlerCount == 0)
  }

  @Test func keptPayloadsAreReleasedAsOthersComeAndWithTheEvent() async {
    let live = LiveCount()
    var event: Event<Canary>? = Event(replaying: .last(3))
    for _ in 0..<10_000 { event?.post(Canary(live)) }
    #expect(live.alive == 3)
    let again = Event<Canary>(replaying: .last(1))
    // The payloads' `deinit` reads `latest`, so they must be released under no mutex.
    for _ in 0..<100 { again.post(Canary(live, onDeinit: { [weak again] in _ = again?.latest })) }
    event = nil
    #expect(await eventually { live.alive == 1 })
  }

  @Test func newHandlersMissNothingAndReceiveNothingTwice() async {
    for (history, count) in [(Int.max, 400), (1, 400), (5, 400)] {
      let event = Event<Int>(replaying: .last(history))
      let logs = ConditionLock<[Recorder<Int>]>([])
      let turns = (0..<2).map { index in
        startThread { for number in 1...count { event.post(number * 2 + index) } }
      }
      let newHandlers = (0..<2).map { index in
        startThread {
          for round in 0..<100 {
            let log = Recorder<Int>()
            logs.withLock { $0.append(log) }
            if (round + index) % 2 == 0 {
              event.addHandler { log.record($0) }
            } else {
              event.addHandler(on: .background) { log.record($0) }
            }
          }
        }
      }
      for thread in turns + newHandlers { await thread.opened() }
      await event.quiesce()
      let all = Recorder<Int>()
      if history == .max { event.addHandler { all.record($0) } } else { event.post(-1) }
      await event.quiesce()
      for log in logs.withLock({ $0 }) {
        let values = log.values.filter { $0 >= 0 }
        if history == .max { #expect(values == all.values) }
        for index in 0..<2 {
          let own = values.filter { $0 % 2 == index }.map { $0 / 2 }
          #expect(own == Array(count - own.count + 1..<count + 1))  // no number is missing after the first one
        }
      }
    }
  }
}
