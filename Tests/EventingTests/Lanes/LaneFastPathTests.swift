import Eventing
import Testing

/// The kinds of handlers with a lane for one call at a time, except `.actor`. A handler that is
/// isolated to an actor ends with the actor. So each post takes the slow path for this handler, to
/// see whether the actor still exists.
private let kinds = SerialKind.allCases.filter { $0 != .actor }

/// Tests of posts on the fast path to handlers on lanes.
///
/// After a post in which no handler needed the slow path, the next post takes the fast path. It
/// enqueues its payload on the lanes without reading the handlers' records. Nevertheless a later
/// change of a handler must take effect with the very next occurrence.
@Suite(.fewAtATime) struct LaneFastPathTests {
  /// An event with a handler on a lane, after a few posts that open the fast path.
  private struct WarmEvent {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    let token: HandlerToken

    init(_ kind: SerialKind) async {
      let seen = seen
      token = add(kind, to: event) { seen.record($0) }
      for number in -3...0 { event.post(number) }
      await event.quiesce()
    }

    /// Returns the payloads that were delivered after the first posts.
    func later() async -> [Int] {
      await event.quiesce()
      return seen.values.filter { $0 > 0 }
    }
  }

  @Test(arguments: kinds) func theLockOfTheHandlerIsSeen(kind: SerialKind) async {
    let warm = await WarmEvent(kind)
    warm.event.lock(warm.token)
    warm.event.post(1)
    warm.event.unlock(warm.token)  // 1 is skipped at its post, although its call would begin later
    for number in 2...4 { warm.event.post(number) }
    #expect(await warm.later() == [2, 3, 4])
    #expect(await warm.event.handlers().map(\.skippedCount) == [1])
  }

  @Test(arguments: kinds) func theLockOfTheEventIsSeen(kind: SerialKind) async {
    let warm = await WarmEvent(kind)
    warm.event.lock()
    warm.event.post(1)
    warm.event.unlock()
    for number in 2...4 { warm.event.post(number) }
    #expect(await warm.later() == [2, 3, 4])
  }

  @Test(arguments: kinds) func aLockThatHoldsIsSeen(kind: SerialKind) async {
    let warm = await WarmEvent(kind)
    warm.event.lock(warm.token, holding: .oldest(2))
    for number in 1...3 { warm.event.post(number) }
    #expect(await warm.later() == [])
    warm.event.post(4)
    warm.event.unlock(warm.token)
    for number in 5...7 { warm.event.post(number) }
    #expect(await warm.later() == [1, 2, 5, 6, 7])
  }

  @Test(arguments: kinds) func theRemovalOfTheHandlerIsSeen(kind: SerialKind) async {
    let warm = await WarmEvent(kind)
    let live = LiveCount()
    let other = add(kind, to: warm.event) { [canary = Canary(live)] _ in withExtendedLifetime(canary) {} }
    for number in 1...2 { warm.event.post(number) }
    #expect(warm.event.remove(warm.token))
    #expect(warm.event.remove(other))
    warm.event.post(3)
    #expect(await warm.later().allSatisfy { $0 < 3 })
    #expect(warm.event.handlerCount == 0)
    #expect(await eventually { live.alive == 0 })
  }

  @Test(arguments: kinds) func aSendStillWaits(kind: SerialKind) async {
    let warm = await WarmEvent(kind)
    for number in 1...50 {
      warm.event.post(2 * number - 1)
      let report = await warm.event.send(2 * number)
      #expect(report.delivered == 1)
      #expect(warm.seen.values.last == 2 * number)
    }
    #expect(await warm.later() == Array(1...100))
  }

  @Test(arguments: kinds) func interceptorsAndObserversAreSeen(kind: SerialKind) async {
    let warm = await WarmEvent(kind)
    let stopping = warm.event.intercept(.priority(1)) { $0 % 2 == 0 ? .stop : .proceed }
    for number in 1...4 { warm.event.post(number) }
    warm.event.remove(stopping)
    for number in 5...6 { warm.event.post(number) }
    let notes = ObserverTests.Notes()
    let observation = warm.event.observe(with: notes)
    for number in 7...8 { warm.event.post(number) }
    #expect(await warm.later() == [1, 3, 5, 6, 7, 8])
    observation.end()
    for number in 9...10 { warm.event.post(number) }
    #expect(await warm.later() == [1, 3, 5, 6, 7, 8, 9, 10])
    #expect(notes.lines.values.filter { $0.hasPrefix("began") }.count == 2)
    #expect(await warm.event.handlers().map(\.skippedCount) == [2])
  }

  @Test(arguments: kinds) func errorsOfTheHandlerAreReportedAndItsCallsAreCounted(kind: SerialKind) async {
    struct Odd: Error {}
    let (event, failed) = (Event<Int>(), Counter())
    event.failures.addHandler { _ in failed.add() }
    add(kind, to: event) { number in if number % 2 == 1 { throw Odd() } }
    for number in 1...10 { event.post(number) }
    await event.quiesce()
    #expect(await eventually { failed.value == 5 })
    #expect(await event.handlers().map(\.callCount) == [10])
  }

  @Test func inlineHandlersAndLanesShareTheFastPath() async {
    let (event, inline, lane, loop) = (Event<Int>(), Recorder<Int>(), Recorder<Int>(), Recorder<Int>())
    let payloads = event.payloads()
    event.addHandler { inline.record($0) }
    event.addHandler(on: .background) { lane.record($0) }
    let nested = event.addHandler { [weak event] in if $0 == 5 { event?.post(100) } }
    for number in 1...9 { event.post(number) }
    event.remove(nested)
    event.finish()
    for await number in payloads { loop.record(number) }
    await event.quiesce()
    let due = [1, 2, 3, 4, 5, 100, 6, 7, 8, 9]
    #expect(inline.values == due)
    #expect(lane.values == due)
    #expect(loop.values == due)
  }

  /// Checks that a post on the main actor calls the handler before the post returns. If that call
  /// posts, the nested occurrence is delivered after the call, and before the outer post returns.
  @Test @MainActor func aHandlerOnMainIsCalledAtOnceOnMain() {
    let (event, seen) = (Event<Int>(), Recorder<Int>())
    event.addHandler(on: .main) { [weak event] number in
      seen.record(number)
      if number == 3 { event?.post(4) }
      seen.record(-number)
    }
    for number in 1...3 { event.post(number) }
    #expect(seen.values == [1, -1, 2, -2, 3, -3, 4, -4])
  }
}
