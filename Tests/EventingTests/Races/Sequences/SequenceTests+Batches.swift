import Eventing
import Testing

/// Tests of guarantee H5 of PROOF.md: sequences whose elements are batches of all waiting payloads.
extension SequenceTests {
  @Test(arguments: [Buffering.unbounded, .newest(100), .oldest(100), .suspendingSender(100)])
  func aBatchIsAllThatWaitsAndAtMostTheCount(buffering: Buffering) async {
    let event = Event<Int>()
    let sequence = event.batches(of: 4).payloads(buffering: buffering)
    for number in 1...10 { event.post(number) }
    var batches = sequence.makeAsyncIterator()
    #expect(await batches.next(isolation: #isolation) == [1, 2, 3, 4])
    event.post(11)
    #expect(await batches.next(isolation: #isolation) == [5, 6, 7, 8])
    #expect(await batches.next(isolation: #isolation) == [9, 10, 11])
    event.post(12)
    #expect(await batches.next(isolation: #isolation) == [12])
    event.post(13)
    event.post(14)
    event.finish()
    #expect(await batches.next(isolation: #isolation) == [13, 14])
    #expect(await batches.next(isolation: #isolation) == nil)
  }

  @Test func aBatchWaitsForItsFirstPayloadAndForNoOther() async {
    let (event, seen) = (Event<Int>(), Recorder<[Int]>())
    let batches = event.batches(of: 100).payloads()
    let loop = Task {
      for await batch in batches { seen.record(batch) }
    }
    for number in 1...3 {
      event.post(number)
      #expect(await eventually { seen.count == number })
    }
    event.finish()
    await loop.value
    #expect(seen.values == [[1], [2], [3]])
  }

  @Test func aCountBelowOneCountsAsOne() async {
    let event = Event<Int>()
    let batches = event.batches(of: -3).payloads()
    event.post(1)
    event.post(2)
    event.finish()
    var seen: [[Int]] = []
    for await batch in batches { seen.append(batch) }
    #expect(seen == [[1], [2]])
  }

  @Test func aBoundedBufferDropsAndArrivalsSayWhere() async {
    let event = Event<Int>()
    let newest = event.batches(of: 2).payloads(buffering: .newest(3))
    let oldest = event.batches(of: 10).arrivals(buffering: .oldest(2))
    let latest = event.batches(of: 2).arrivals(named: "latest", buffering: .newest(2))
    for number in 1...5 { event.post(number) }
    event.finish()
    var payloads: [[Int]] = []
    for await batch in newest { payloads.append(batch) }
    #expect(payloads == [[3, 4], [5]])
    var arrivals: [EventArrival<[Int]>] = []
    for await batch in oldest { arrivals.append(batch) }
    for await batch in latest { arrivals.append(batch) }
    #expect(arrivals == [.payload([1, 2]), .dropped(3), .dropped(3), .payload([4, 5])])
  }

  @Test func aBatchMakesRoomForTheSendsThatWait() async {
    let event = Event<Int>()
    var batches = event.batches(of: 10).payloads(buffering: .suspendingSender(2)).makeAsyncIterator()
    let senders = (1...5).map { number in Task { await event.send(number).delivered } }
    var seen: [Int] = []
    while seen.count < 5, let batch = await batches.next(isolation: #isolation) { seen += batch }
    for sender in senders { #expect(await sender.value == 1) }
    #expect(seen.sorted() == Array(1...5))
  }

  @Test func cancellationEndsBatchesAndTheSequenceLeaves() async {
    let event = Event<Int>()
    let batches = event.batches(of: 10).payloads()
    let loop = Task { () -> Int in
      var count = 0
      for await batch in batches { count += batch.count }
      return count
    }
    event.post(1)
    loop.cancel()
    #expect(await loop.value <= 1)
    #expect(event.handlerCount == 0)
  }

  @Test func aRemovedHandlerGivesNoBatch() async {
    let event = Event<Int>()
    let batches = event.batches(of: 10).payloads(named: "batches")
    event.post(1)
    event.removeAll(where: .named("batches"))
    for await batch in batches { Issue.record("\(batch)") }
  }

  @Test func iteratorsOfBatchesAreIndependentAndOccurrencesHaveThem() async {
    let event = Event<Int>("n")
    let batches = event.batches(of: 2).payloads()
    var (one, other) = (batches.makeAsyncIterator(), batches.makeAsyncIterator())
    let occurrences = event.occurrences.batches(of: 5).payloads(buffering: .newest(2))
    for number in 1...3 { event.post(number) }
    event.finish()
    #expect(await one.next(isolation: #isolation) == [1, 2])
    #expect(await other.next(isolation: #isolation) == [1, 2])
    #expect(await one.next(isolation: #isolation) == [3])
    for await batch in occurrences { #expect(batch.map(\.sequence) == [2, 3] && batch.map(\.payload) == [2, 3]) }
  }

  @Test func payloadsOfABatchAreReleasedWithIt() async {
    let (event, live) = (Event<Canary>(), LiveCount())
    var batches = event.batches(of: 3).payloads().makeAsyncIterator()
    for _ in 0..<4 { event.post(Canary(live)) }
    #expect(await batches.next(isolation: #isolation)?.count == 3)
    #expect(live.alive == 1)
    #expect(await batches.next(isolation: #isolation)?.count == 1)
    #expect(live.alive == 0)
  }

  @Test func racingPostsAreInTheBatchesOnceAndInOrder() async {
    let event = Event<Int>()
    let batches = event.batches(of: 7).payloads()
    let loop = Task {
      var seen: [Int] = []
      for await batch in batches {
        #expect(!batch.isEmpty && batch.count <= 7)
        seen += batch
      }
      return seen
    }
    await onThreads(2) { index in for number in 0..<5_000 { event.post(2 * number + index) } }
    await event.quiesce()
    event.finish()
    let seen = await loop.value
    for index in 0..<2 { #expect(seen.filter { $0 % 2 == index } == (0..<5_000).map { 2 * $0 + index }) }
  }
}
