import Eventing
import EventingTesting
import Testing

/// Tests of interceptors that pass another payload on, and of their owners and options.
@Suite(.fewAtATime) struct InterceptorTests {
  struct Refused: Error {}

  @Test(arguments: SerialKind.allCases) func laterInterceptorsAndHandlersReceiveThePayloadThatIsPassedOn(
    kind: SerialKind
  ) async {
    let (event, seen) = (Event<Int>(), Recorder<String>())
    event.addHandler(.priority(3)) { seen.record("before \($0)") }
    event.intercept(.priority(2)) { .proceed(with: $0 * 10) }
    event.intercept(.priority(1)) { .proceed(with: $0 + 1) }
    add(kind, to: event) { seen.record("\($0)") }
    event.filter { $0 > 10 }.map { -$0 }.addHandler { seen.record("view \($0)") }
    let report = await event.send(1)
    #expect(report.skipped == 0 && report.delivered >= 5)
    event.post(2)
    await event.quiesce()
    #expect(seen.values.filter { $0.hasPrefix("before") } == ["before 1", "before 2"])
    #expect(seen.values.filter { $0.hasPrefix("view") } == ["view -11", "view -21"])
    #expect(seen.values.filter { Int($0) != nil } == ["11", "21"])
  }

  @Test func sequencesForwardsAndReplayReceiveThePayloadThatIsPassedOn() async throws {
    let (event, target) = (Event<Int>(replaying: .last(2)), Event<Int>())
    let seen = Recorder<Int>()
    event.intercept(.priority(1)) { $0 == 0 ? .stop : .proceed(with: $0 * 10) }
    event.forward(to: target)
    target.addHandler { seen.record($0) }
    var payloads = event.payloads().makeAsyncIterator()
    for number in 0...3 { event.post(number) }
    #expect(seen.values == [10, 20, 30])
    let first = try await payloads.next()
    #expect(first == 10)
    #expect(event.latest == 3)
    let late = Recorder<Int>()
    event.addHandler(.priority(-1)) { late.record($0) }
    #expect(late.values == [20, 30])
  }

  @Test func aDeadLetterIsWhatTheInterceptorPassedOnAndNothingIsUnhandled() async {
    let (event, letters, unhandled) = (Event<Int>(), Recorder<Int>(), Recorder<Int>())
    event.deadLetters.addHandler { letters.record($0.payload) }
    event.unhandled.addHandler { unhandled.record($0.payload) }
    event.intercept(.priority(1)) { .proceed(with: $0 * 10) }
    let inline = event.addHandler { _ in throw Refused() }
    let onLane = event.addHandler { _ async throws in throw Refused() }
    await event.send(1)
    await event.quiesce()
    #expect(letters.values == [10, 10])
    event.remove(inline)
    event.remove(onLane)
    event.filter { _ in false }.addHandler { _ in }
    await event.send(2)
    #expect(unhandled.values.isEmpty)  // an interceptor counts as called
  }

  /// Each payload that is passed on is released with its occurrence.
  @Test func aPayloadThatIsPassedOnIsReleasedOnce() async {
    let live = LiveCount()
    do {
      let event = Event<Canary>()
      event.intercept(.priority(1)) { _ in .proceed(with: Canary(live)) }
      event.intercept { _ in .proceed(with: Canary(live)) }
      event.addHandler { $0.sing() }
      event.addHandler(on: .background) { $0.sing() }
      for _ in 0..<10 {
        event.post(Canary(live))
        await event.send(Canary(live))
        _ = await event.submit(Canary(live)).report
      }
      await event.quiesce()
      event.lock(holding: .unbounded)
      for _ in 0..<10 { event.post(Canary(live)) }
      event.unlock()
      await event.quiesce()
    }
    #expect(await eventually { live.alive == 0 })
  }

  /// The lock keeps the occurrence for the interceptor and for the handlers after it.
  @Test func whatALockOfTheEventHeldPassesTheInterceptors() async {
    let (event, seen) = (Event<Int>(), Recorder<Int>())
    event.intercept(.priority(2)) { $0 == 2 ? .stop : .proceed(with: $0 * 10) }
    event.addHandler(.priority(1)) { seen.record($0) }
    event.addHandler { seen.record(-$0) }
    event.lock(holding: .unbounded)
    for number in 1...3 { event.post(number) }
    #expect(seen.values.isEmpty)
    event.unlock()
    await event.quiesce()
    #expect(seen.values == [10, -10, 30, -30])
  }

  /// The second handler locks itself again, within the first call after the lock.
  @Test func whatALaterLockHoldsIsThePayloadThatWasPassedOn() async {
    let (event, seen) = (Event<Int>(), Recorder<Int>())
    let slot = Recorder<HandlerToken>()
    event.intercept(.priority(2)) { .proceed(with: $0 * 10) }
    event.addHandler(.priority(1)) { _ in slot.values.first.map { _ = event.lock($0, holding: .unbounded) } }
    slot.record(event.addHandler { seen.record($0) })
    event.lock(holding: .unbounded)
    event.post(1)
    event.unlock()
    await event.quiesce()
    #expect(seen.values.isEmpty)
    event.unlock(slot.values[0])
    await event.quiesce()
    #expect(seen.values == [10])
  }

  /// The lock holds the replay for the interceptor, which is added later.
  @Test func aNewInterceptorDecidesAboutNoOlderOccurrence() async {
    let (event, seen) = (Event<Int>(replaying: .last(3)), Recorder<Int>())
    event.addHandler { seen.record($0) }
    event.lock(holding: .unbounded)
    event.post(1)
    event.intercept(.priority(1)) { $0 == 1 ? .stop : .proceed(with: -$0) }
    event.post(2)
    event.unlock()
    await event.quiesce()
    #expect(seen.values == [1, -2])
  }

  /// The handler has a lock of its own when the event's lock ends.
  @Test func aStoppedOccurrenceIsNotHeldOn() async {
    let (event, seen) = (Event<Int>(), Recorder<Int>())
    event.intercept(.priority(1)) { $0 == 1 ? .stop : .proceed }
    let token = event.addHandler { seen.record($0) }
    event.lock(token, holding: .unbounded)
    event.lock(holding: .unbounded)
    for number in 1...2 { event.post(number) }
    event.unlock()
    await event.quiesce()
    #expect(seen.values.isEmpty)
    event.unlock(token)
    await event.quiesce()
    #expect(seen.values == [2])
  }

  @Test func anInterceptorOfAKeyedEventSeesTheKeyAndChangesThePayload() async {
    let (rooms, seen) = (KeyedEvent<String, Int>(), Recorder<String>())
    let token = rooms.intercept(.named("half"), .priority(1)) { room, number in
      room == "lobby" ? .stop : .proceed(with: number / 2)
    }
    for room in ["lobby", "hall"] { rooms[room].addHandler { seen.record("\(room) \($0)") } }
    rooms.post(8, to: "hall")
    rooms.post(8, to: "lobby")
    rooms.anyKey.addHandler { seen.record("any \($0) \($1)") }
    #expect(await rooms.send(6, to: "lobby").skipped == 2)
    await rooms.send(6, to: "hall")
    #expect(seen.values == ["hall 4", "hall 3", "any hall 3"])
    rooms.remove(token)
    await rooms.send(6, to: "hall")
    #expect(seen.values.suffix(2) == ["hall 6", "any hall 6"])
  }

  @Test func anInterceptorEndsWithItsOwnerAfterOneCallAndByItsName() async {
    let (event, seen) = (Event<Int>(), Recorder<Int>())
    event.addHandler { seen.record($0) }
    var owner: Listener? = Listener()
    if let owner {
      event.intercept(.priority(1), owner: owner) { listener, number in
        listener.numbers.record(number)
        return .proceed(with: -number)
      }
    }
    event.post(1)
    #expect(owner?.numbers.values == [1])
    owner = nil
    event.post(2)
    event.intercept(.once, .priority(1)) { .proceed(with: $0 * 10) }
    for number in 3...4 { event.post(number) }
    event.intercept(.named("stop"), .tagged("guard"), .priority(1)) { _ in .stop }
    event.post(5)
    #expect(event.contains(where: .tagged("guard")))
    #expect(event.removeAll(where: .named("stop")) == 1)
    event.post(6)
    #expect(seen.values == [-1, 2, 30, 4, 6])
  }

  /// A handler that is added while the occurrence is delivered does not get it, whatever it is.
  @Test func anInterceptorMayAddAndRemoveHandlersAndPost() async {
    let (event, seen) = (Event<Int>(), Recorder<Int>())
    event.intercept(.priority(1)) { number in
      if number == 1 {
        event.addHandler { seen.record($0) }
        event.post(2)
      }
      return .proceed(with: number * 10)
    }
    event.post(1)
    #expect(seen.values == [20])
  }
}

/// An owner of an interceptor, which keeps the numbers that it saw.
private final class Listener: Sendable {
  let numbers = Recorder<Int>()
}
