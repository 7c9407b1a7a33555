@testable import Eventing
import EventingTesting
import Testing

/// Tests of guarantee H3 of PROOF.md: dead letters, the payloads that a handler could not handle.
@Suite(.fewAtATime) struct DeadLetterTests {
  struct Refused: Error {}

  @Test(arguments: RetryTests.places) func aLetterComesAfterTheLastAttempt(place: String) async {
    let (event, letters) = (Event<Int>(), Recorder<[Int]>())
    event.deadLetters.addHandler { letters.record([$0.payload, $0.failure.attempts]) }
    event.add(RetryTests.handler(place, .init(failures: 9)).with(.retrying(.immediately(attempts: 2))))
    event.add(RetryTests.handler(place, .init(failures: 1)).with(.retrying(.immediately(attempts: 2))))
    event.add(RetryTests.handler(place, .init(failures: 9)))
    _ = await event.send(7)
    #expect(letters.values.sorted { $0[1] < $1[1] } == [[7, 1], [7, 2]])
  }

  @Test func eachPayloadOfABatchMakesALetter() async {
    let (event, letters) = (Event<Int>(), Recorder<Int>())
    event.deadLetters.addHandler { letters.record($0.payload) }
    event.batches(of: 3, within: .seconds(1_000)).addHandler { (_: [Int]) async throws in throw Refused() }
    for payload in 1...3 { event.post(payload) }
    #expect(await eventually { letters.count == 3 })
    #expect(letters.values == [1, 2, 3])
  }

  @Test func aViewThatChangesThePayloadMakesNoWrongLetter() async {
    let (event, letters) = (Event<Int>(), Recorder<Int>())
    event.deadLetters.addHandler { letters.record($0.payload) }
    event.map { "\($0)" }.addHandler { (_: String) in throw Refused() }
    #expect(await event.send(1).failures.count == 1)
    #expect(letters.values == [1])
    event.removeAll()
    event.map { "\($0)" }.addHandler { (_: String) async throws in throw Refused() }
    #expect(await event.send(2).failures.count == 1)
    #expect(letters.values == [1])
    event.removeAll()
    event.filter { $0 > 2 }.addHandler { (_: Int) async throws in throw Refused() }
    #expect(await event.send(3).failures.count == 1)
    #expect(letters.values == [1, 3])
  }

  @Test(arguments: RetryTests.places.dropFirst() + ["retried", "batch", "paced", "paced, async"])
  func aViewThatMakesPayloadsOfTheSameTypeMakesNoLetter(place: String) async {
    let handler =
      switch place {
      case "batch": Handler { (_: [Int]) async throws in throw Refused() }.batched(of: 1, within: .seconds(1_000))
      case "paced": RetryTests.handler("inline", .init(failures: 99)).with(.debounced(for: .nanoseconds(1)))
      case "paced, async": RetryTests.handler("inOrder", .init(failures: 99)).with(.debounced(for: .nanoseconds(1)))
      case "retried": RetryTests.handler("inOrder", .init(failures: 99)).with(.retrying(.immediately(attempts: 2)))
      default: RetryTests.handler(place, .init(failures: 99))
      }
    func letters(_ view: (Event<Int>) -> any EventSource<Int>) async -> [Int] {
      let (event, letters) = (Event<Int>(), Recorder<Int>())
      event.deadLetters.addHandler { letters.record($0.payload) }
      view(event).add(handler)
      #expect(await event.send(2).failures.count == 1)
      return letters.values
    }
    #expect(await letters { $0.map { $0 + 1 } } == [])
    #expect(await letters { $0.filter { $0 > 1 }.map { $0 + 1 } } == [])
    #expect(await letters { $0.map { $0 + 1 }.filter { $0 > 2 } } == [])
    #expect(await letters { $0.compactMap { $0 + 1 } } == [])
    #expect(await letters { $0.filter { $0 > 1 } } == [2])
    #expect(await letters { $0.removeDuplicates() } == [2])
    #expect(await letters { $0.filter { $0 > 1 }.filter { $0 < 3 } } == [2])
  }

  @Test func viewsThatKeepThePayloadMakeLetters() async {
    let (bus, letters, signals) = (EventBus(), Recorder<Int>(), Recorder<Void>())
    bus.event(for: Int.self).deadLetters.addHandler { letters.record($0.payload) }
    bus.all(as: Int.self).addHandler { _ async throws in throw Refused() }
    await bus.send(1)
    #expect(letters.values == [1])
    let event = Event<Void>()
    event.deadLetters.addHandler { _ in signals.record(()) }
    event.signal.addHandler { (_: Void) async throws in throw Refused() }
    await event.send(())
    #expect(signals.count == 1)
  }

  @Test func aThrottledHandlerBehindAMapMakesNoLetterOfWhatWaited() async {
    let (event, clock, seen, letters) = (Event<Int>(), ManualClock(), Recorder<Int>(), Recorder<Int>())
    event.deadLetters.addHandler { letters.record($0.payload) }
    let handler = Handler<Int> { number in
      seen.record(number)
      throw Refused()
    }
    event.map { $0 + 1 }.add(handler.with(.throttled(every: .seconds(1), clock: clock)))
    event.post(1)  // called at once, inline: the letter has the payload of the event
    event.post(5)
    #expect(await eventually { clock.sleeperCount == 1 })
    clock.advance(by: .seconds(1))
    #expect(await eventually { seen.count == 2 })
    await event.quiesce()
    #expect(seen.values == [2, 6] && letters.values == [1])
  }

  @Test func anEndBetweenAttemptsMakesALetterToo() async {
    let (event, clock, letters) = (Event<Int>(), ManualClock(), Recorder<Int>())
    event.deadLetters.addHandler { letters.record($0.failure.attempts) }
    let policy = RetryPolicy.exponential(from: .seconds(1), to: .seconds(1), attempts: 9, jitter: false)
    let token = event.add(RetryTests.handler("inOrder", .init(failures: 9)).with(.retrying(policy, clock: clock)))
    event.post(1)
    #expect(await eventually { clock.sleeperCount == 1 })
    event.remove(token)
    #expect(await eventually { letters.count == 1 })
    #expect(letters.values == [1])
  }

  @Test func quiesceWaitsForHandlersOfLetters() async {
    let (event, letters, late) = (Event<Int>(), Recorder<Int>(), Recorder<Int>())
    event.deadLetters.addHandler { letter async throws in
      for _ in 0..<50 { await Task.yield() }
      letters.record(letter.payload)
      throw Refused()
    }
    event.addHandler(.retrying(.immediately(attempts: 2))) { _ async throws in throw Refused() }
    for number in 1...20 { event.post(number) }
    await event.quiesce()
    #expect(letters.values == Array(1...20))
    event.deadLetters.addHandler { letter async in
      await event.quiesce()  // inside a handler, `quiesce` does not wait for that handler
      late.record(letter.payload)
    }
    event.post(21)
    await event.quiesce()
    #expect(late.values == [21])
  }

  @Test func quiesceOfABusWaitsForHandlersOfLetters() async {
    let (bus, letters) = (EventBus(), Recorder<Int>())
    bus.event(for: Int.self).deadLetters.addHandler { letter async in
      for _ in 0..<50 { await Task.yield() }
      letters.record(letter.payload)
    }
    bus.event(for: Int.self).addHandler(.retrying(.immediately(attempts: 2))) { _ async throws in throw Refused() }
    for number in 1...20 { bus.post(number) }
    await bus.quiesce()
    #expect(letters.values == Array(1...20))
  }

  @Test func noLetterIsMadeWithoutAListener() async {
    let event = Event<Int>()
    event.addHandler { _ in throw Refused() }
    _ = await event.send(1)
    #expect(event.core.anchor.deadLetters == nil)
  }
}
