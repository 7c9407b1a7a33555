import Eventing
import Testing

/// Tests of the payloads of an event as an asynchronous sequence.
@Suite(.fewAtATime) struct SequenceTests {
  /// Returns the next `count` elements; fewer if the sequence ends.
  static func take<S: AsyncSequence>(_ count: Int, of sequence: S) async -> [S.Element] where S.Failure == Never {
    var taken: [S.Element] = []
    guard count > 0 else { return [] }
    for await element in sequence {
      taken.append(element)
      if taken.count == count { break }
    }
    return taken
  }

  // MARK: Elements

  @Test("107: every send since a sequence was made is seen in order")
  func everySendSinceASequenceWasMadeIsSeenInOrder()
    async
  {
    let event = Event<Int>()
    event.post(0)
    do {
      let payloads = event.payloads()
      for number in 1...1_000 { event.post(number) }
      #expect(await Self.take(1_000, of: payloads) == Array(1...1_000))
    }
    #expect(event.handlerCount == 0)
  }

  @Test func laterPayloadsWakeTheLoop() async {
    let event = Event<Int>()
    let payloads = event.payloads()
    let taking = Task { await Self.take(100, of: payloads) }
    for number in 1...100 {
      await event.send(number)
      await Task.yield()
    }
    #expect(await taking.value == Array(1...100))
  }

  @Test func iteratorsAreIndependent() async {
    let event = Event<Int>()
    let payloads = event.payloads()
    event.post(1)
    var (one, other) = (payloads.makeAsyncIterator(), payloads.makeAsyncIterator())
    event.post(2)
    #expect(await one.next(isolation: #isolation) == 1)
    #expect(await one.next(isolation: #isolation) == 2)
    event.post(3)
    var late = payloads.makeAsyncIterator()  // an element was taken, so this iterator begins with the next payload
    event.post(4)
    #expect(
      await [
        other.next(isolation: #isolation), other.next(isolation: #isolation), other.next(isolation: #isolation),
        other.next(isolation: #isolation),
      ] == [1, 2, 3, 4])
    #expect(await [one.next(isolation: #isolation), one.next(isolation: #isolation)] == [3, 4])
    #expect(await late.next(isolation: #isolation) == 4)
    #expect(event.handlerCount == 1)
    withExtendedLifetime(payloads) {}
  }

  @Test func viewsKeysAndValuesAreSequences() async {
    let (event, keyed, observed) = (Event<Int>(), KeyedEvent<String, Int>(), Observed(1))
    do {
      let (strings, whole) = (
        event.filter { $0 > 1 }.map { "\($0)" }.payloads(), event.occurrences.payloads(buffering: .unbounded)
      )
      let (key, values) = (keyed["a"].payloads(), observed.payloads())
      for number in 1...3 {
        event.post(number)
        keyed.post(number, to: number == 2 ? "b" : "a")
        observed.value = number * 10
      }
      #expect(await Self.take(2, of: strings) == ["2", "3"])
      #expect(await Self.take(3, of: whole).map(\.sequence) == [1, 2, 3])
      #expect(await Self.take(2, of: key) == [1, 3])
      #expect(await Self.take(4, of: values) == [1, 10, 20, 30])
    }
    #expect(event.handlerCount == 0 && keyed.handlerCount == 0 && observed.handlerCount == 0)
  }

  @Test func aSequenceIsAHandlerThatCanBeLockedAndInspected() async {
    let event = Event<Int>()
    let payloads = event.payloads(buffering: .newest(8))
    event.post(1)
    event.lockAll()
    #expect(await event.send(2).skipped == 1)
    event.unlockAll()
    #expect(await event.send(3).delivered == 1)
    #expect(
      await event.handlers().map(\.description) == [
        "handler \(event.handlers()[0].id) on sequence, newest(8), 2 waiting, 2 calls, 0 failed, 0 dropped"
      ])
    #expect(await Self.take(2, of: payloads) == [1, 3])
  }

  @Test func noSendWaitsForALoopAndNeitherDoesQuiesce() async {
    let event = Event<Int>()
    let payloads = event.payloads()
    #expect(await event.send(1).delivered == 1)
    await event.quiesce()
    withExtendedLifetime(payloads) {}
  }

  // MARK: The end of a sequence

  @Test func aCancelledLoopHasLeftTheEventWhenItEnds() async {
    let event = Event<Int>()
    for _ in 0..<200 {
      let (payloads, began) = (event.payloads(), Gate())
      let loop = Task {
        for await _ in payloads { began.open() }
        return event.handlerCount
      }
      event.post(1)
      await began.opened()
      loop.cancel()
      #expect(await loop.value == 0)
      withExtendedLifetime(payloads) {}
    }
  }

  @Test func aCancelledTaskGetsNothing() async {
    let event = Event<Int>()
    let payloads = event.payloads()
    event.post(1)
    let taken = await inCancelledTask { () -> [Int] in
      var taken: [Int] = []
      for await number in payloads { taken.append(number) }
      return taken
    }
    #expect(taken == [])
    #expect(event.handlerCount == 0)
  }

  @Test(arguments: [false, true]) func aSequenceEndsWithItsEventAfterEarlierPayloads(onPurpose: Bool) async {
    var event: Event<Int>? = Event()
    weak let weakEvent = event
    let (payloads, whole) = (event!.payloads(), event!.map { -$0 }.payloads(buffering: .newest(2)))
    let waiting = Task { [event = event!.payloads()] in await Self.take(.max, of: event) }
    for number in 1...3 { event?.post(number) }
    if onPurpose { event?.finish() } else { event = nil }
    #expect((weakEvent == nil) == !onPurpose)
    #expect(await Self.take(.max, of: payloads) == [1, 2, 3])
    #expect(await Self.take(.max, of: whole) == [-2, -3])
    #expect(await waiting.value == [1, 2, 3])
    #expect(await event?.payloads().first { _ in true } == nil)  // the event has ended, so the sequence ends at once
  }

  @Test func removingAllHandlersEndsASequenceAtOnce() async {
    let event = Event<Int>()
    let (payloads, bounded, waiting) = (event.payloads(), event.payloads(buffering: .oldest(9)), event.payloads())
    let live = LiveCount()
    let canaries = Event<Canary>()
    let held = canaries.payloads()
    canaries.post(Canary(live))
    var begun = bounded.makeAsyncIterator()
    for number in 1...3 { event.post(number) }
    #expect(await begun.next(isolation: #isolation) == 1)
    let loop = Task { await Self.take(.max, of: waiting.dropFirst(3)) }
    #expect(event.removeAll() == 3 && canaries.removeAll() == 1)
    #expect(await Self.take(.max, of: payloads) == [])
    #expect(await begun.next(isolation: #isolation) == nil)
    #expect(await loop.value == [])
    #expect(live.alive == 0)
    withExtendedLifetime(held) {}
  }

  @Test func aSequenceOrAnIteratorThatIsDroppedLeavesNothing() async {
    let (event, live) = (Event<Canary>(), LiveCount())
    do {
      let unused = event.payloads()
      event.post(Canary(live))
      #expect(event.handlerCount == 1)
      withExtendedLifetime(unused) {}
    }
    #expect(event.handlerCount == 0 && live.alive == 0)
    do {
      let payloads = event.payloads()
      var iterator = payloads.makeAsyncIterator()
      for _ in 0..<3 { event.post(Canary(live)) }
      _ = await iterator.next(isolation: #isolation)
      #expect(live.alive == 2)
    }
    #expect(event.handlerCount == 0 && live.alive == 0)
  }

  @Test func takenPayloadsAreReleasedByTheirTaker() async {
    let (event, live) = (Event<Canary>(), LiveCount())
    let payloads = event.payloads()
    for _ in 0..<100 { event.post(Canary(live)) }
    var iterator = payloads.makeAsyncIterator()
    for left in (0..<100).reversed() {
      _ = await iterator.next(isolation: #isolation)
      #expect(live.alive == left)
    }
  }
}
