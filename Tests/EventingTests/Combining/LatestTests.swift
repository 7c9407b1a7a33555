import Eventing
import EventingTesting
import Testing

/// Tests of the latest payloads of any sources: one order for all, and one token for all of them.
@Suite(.fewAtATime) struct LatestTests {
  @Test func eachPayloadMakesATupleOnceEachSourceHasHadOne() async {
    let (numbers, words, rooms) = (Event<Int?>(), Event<String>(), KeyedEvent<Int, Bool>())
    let seen = Recorder<String>()
    let latest = numbers.combineLatest(words.filter { $0 != "skip" }, rooms[7])
    latest.addHandler { number, word, isOpen in seen.record("\(number ?? -1) \(word) \(isOpen)") }
    rooms.post(true, to: 7)
    words.post("a")
    #expect(seen.values.isEmpty)
    numbers.post(1)
    words.post("skip")
    rooms.post(false, to: 8)
    numbers.post(nil)
    #expect(await rooms.send(false, to: 7).delivered == 1)
    #expect(seen.values == ["1 a true", "-1 a true", "-1 a false"])
  }

  @Test func anObservedBeginsWithItsValue() {
    @Observed var volume = 5
    let (event, seen) = (Event<Int>(), Recorder<[Int]>())
    event.combineLatest($volume).addHandler { number, volume in seen.record([number, volume]) }
    event.post(1)
    volume = 6
    #expect(seen.values == [[1, 5], [1, 6]])
  }

  @Test func aLockedSourceMakesNoTuple() {
    let (first, second, seen) = (Event<Int>(), Event<Int>(), Recorder<[Int]>())
    first.combineLatest(second).addHandler { seen.record([$0, $1]) }
    first.post(1)
    second.post(1)
    first.lock()
    first.post(2)
    first.unlock()
    second.post(2)
    #expect(seen.values == [[1, 1], [1, 2]])
  }

  @Test func theTokenAndTheViewRemoveTheHandlerFromAllSources() async {
    let (first, second, seen, live) = (Event<Int>(), Event<Int>(), Recorder<Int>(), LiveCount())
    let latest = first.combineLatest(second)
    var canary: Canary? = Canary(live)
    let one = latest.addHandler { [canary] number, _ in
      canary?.sing()
      seen.record(number)
    }
    canary = nil
    let other = latest.addHandler(on: .background) { _, _ in }
    #expect(latest.remove(one) && !latest.remove(one))
    #expect(other.remove())
    #expect(await eventually { first.handlerCount == 0 && second.handlerCount == 0 && live.alive == 0 })
    for event in [first, second] { await event.send(1) }
    #expect(seen.values.isEmpty)
  }

  @Test func tuplesComeInTheOrderOfEachSource() async {
    let (first, second, seen) = (Event<Int>(), Event<Int>(), Recorder<[Int]>())
    first.combineLatest(second).addHandler { seen.record([$0, $1]) }
    await onThreads(2) { index in for number in 1...200 { (index == 0 ? first : second).post(number) } }
    await first.send(201)  // delivered after what the two have posted
    let changes = zip(seen.values, seen.values.dropFirst())
    #expect(changes.allSatisfy { [$1[0] - $0[0], $1[1] - $0[1]].sorted() == [0, 1] })
    #expect(seen.values.last == [201, 200])
  }

  @Test func payloadsThatAreReplacedAreReleased() async {
    let (first, second, live) = (Event<Canary>(), Event<Int>(), LiveCount())
    let seen = Counter()
    let token = first.combineLatest(second).addHandler { canary, _ in
      canary.sing()
      seen.add()
    }
    second.post(1)
    for _ in 0..<3 { first.post(Canary(live)) }
    #expect(live.alive == 1 && seen.value == 3)
    token.remove()
    #expect(await eventually { live.alive == 0 })
  }

  @Test func aSequenceEndsWhenAllSourcesHaveEnded() async {
    let (first, second) = (Event<Int>(), Event<Int>())
    let pairs = first.combineLatest(second).payloads()
    first.post(1)
    second.post(2)
    first.finish()
    second.post(3)
    second.finish()
    var seen: [Int] = []
    for await (number, other) in pairs { seen += [number, other] }
    #expect(seen == [1, 2, 1, 3])
  }
}
