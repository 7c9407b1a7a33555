import Eventing
import Testing

extension SequenceTests {
  /// Bufferings, each with the arrivals that an iterator receives if 1 to 9 were sent before it
  /// took any.
  static let kept: [(Buffering, [EventArrival<Int>])] = [
    (.unbounded, (1...9).map(EventArrival.payload)),
    (.oldest(3), [.payload(1), .payload(2), .payload(3), .dropped(6)]),
    (.newest(3), [.dropped(6), .payload(7), .payload(8), .payload(9)]),
    (.latest, [.dropped(8), .payload(9)]),
    (.suspendingSender(2), [.payload(1), .payload(2), .dropped(7)]),
    (.oldest(0), [.payload(1), .dropped(8)]), (.newest(.max), (1...9).map(EventArrival.payload)),
  ]

  @Test(arguments: kept) func droppedPayloadsAreReportedInTheirPlace(
    buffering: Buffering, arrivals: [EventArrival<Int>]
  ) async {
    let event = Event<Int>()
    let (counted, plain) = (event.arrivals(buffering: buffering), event.payloads(buffering: buffering))
    var reports: [SendReport] = []
    for number in 1...9 { reports.append(await event.submit(number).report) }
    let payloads = arrivals.compactMap { if case .payload(let number) = $0 { number } else { nil } }
    let isDroppedAtOnce = payloads.first == 1
    #expect(reports.map(\.dropped) == (1...9).map { isDroppedAtOnce && !payloads.contains($0) ? 2 : 0 })
    #expect(await event.handlers().map(\.droppedCount) == [9 - payloads.count, 9 - payloads.count])
    #expect(await Self.take(arrivals.count, of: counted) == arrivals)
    event.finish()
    #expect(await Self.take(.max, of: plain) == payloads)
  }

  @Test func droppedPayloadsAreCountedBetweenArrivals() async {
    let event = Event<Int>()
    let arrivals = event.arrivals(buffering: .oldest(2))
    var iterator = arrivals.makeAsyncIterator()
    func next() async -> EventArrival<Int>? { await iterator.next(isolation: #isolation) }
    for number in 1...5 { event.post(number) }
    #expect(await next() == .payload(1))
    for number in 6...7 { event.post(number) }
    #expect(await [next(), next(), next()] == [.payload(2), .dropped(3), .payload(6)])
    #expect(await next() == .dropped(1))
    event.post(8)
    #expect(await next() == .payload(8))
    event.finish()
    #expect(await next() == nil)
  }

  @Test func anIteratorThatNeverReadsKeepsNoMoreThanItsBound() async {
    let (event, live) = (Event<Canary>(), LiveCount())
    let payloads = event.payloads(buffering: .newest(64))
    var iterator = payloads.makeAsyncIterator()
    for _ in 0..<10_000 { event.post(Canary(live)) }
    #expect(live.alive <= 128)  // 64 for the iterator, and 64 for iterators that may be made later
    _ = await iterator.next(isolation: #isolation)
    #expect(live.alive == 63)
    for _ in 0..<100 { event.post(Canary(live)) }
    #expect(live.alive == 64)
  }

  // MARK: Sends that wait for room

  @Test func aSendWaitsForRoomAndAPostDoesNot() async {
    let event = Event<Int>()
    let payloads = event.payloads(buffering: .suspendingSender(2))
    #expect(await event.send(1).delivered == 1)
    #expect(await event.send(2).delivered == 1)
    event.post(3)  // no room
    #expect(await event.submit(4).report.dropped == 1)
    let (taken, sent) = (Recorder<Int>(), Recorder<Int>())
    event.addHandler { taken.record($0) }
    let sends = (5...7).map { number in
      Task {
        let report = await event.send(number)
        sent.record(number)
        return report
      }
    }
    #expect(await eventually { taken.count == 3 })
    for _ in 0..<100 { await Task.yield() }
    #expect(sent.values == [])
    var iterator = payloads.makeAsyncIterator()
    #expect(await [iterator.next(isolation: #isolation), iterator.next(isolation: #isolation)] == [1, 2])
    #expect(await eventually { sent.count == 2 })  // there is room for the payloads of two sends now
    #expect(Set(sent.values) == Set(taken.values.prefix(2)))
    for number in taken.values { #expect(await iterator.next(isolation: #isolation) == number) }
    for send in sends { #expect(await comesBack { await send.value }?.delivered == 2) }
    #expect(await event.handlers().first?.droppedCount == 2)
  }

  @Test func aSendReturnsAsSoonAsThereIsRoomForItsPayload() async {
    let (event, reached, sent) = (Event<Int>(), Recorder<Int>(), Recorder<Int>())
    let payloads = event.payloads(buffering: .suspendingSender(3))
    var iterator = payloads.makeAsyncIterator()
    event.addHandler { reached.record($0) }
    for number in 1...3 { await event.send(number) }
    var sends: [Task<Void, Never>] = []
    for number in 4...8 {
      sends.append(
        Task {
          await event.send(number)
          sent.record(number)
        })
      #expect(await eventually { reached.count == number })
    }
    for number in 1...5 {  // each element that is taken makes room for exactly one send
      #expect(await iterator.next(isolation: #isolation) == number)
      let isNext = await eventually { sent.count == number }
      for _ in 0..<20 { await Task.yield() }
      #expect(isNext && sent.values == Array(4..<(4 + number)))
      guard isNext else { break }
    }
    event.finish()
    while await iterator.next(isolation: #isolation) != nil {}
    for send in sends { await comesBack { await send.value } }
  }

  @Test func aSendWaitsForRoomBeforeEachOfTwoIterators() async {
    let (event, sent, reached) = (Event<Int>(), Gate(), Gate())
    let payloads = event.payloads(buffering: .suspendingSender(2))
    var (one, two) = (payloads.makeAsyncIterator(), payloads.makeAsyncIterator())
    for number in 1...2 { await event.send(number) }
    event.addHandler { _ in reached.open() }
    let send = Task {
      await event.send(3)
      sent.open()
    }
    await reached.opened()
    for number in 1...2 { #expect(await one.next(isolation: #isolation) == number) }
    for _ in 0..<100 { await Task.yield() }
    #expect(!sent.isOpen)
    #expect(await two.next(isolation: #isolation) == 1)
    #expect(await eventually { sent.isOpen })
    #expect(
      await [two.next(isolation: #isolation), two.next(isolation: #isolation), one.next(isolation: #isolation)] == [
        2, 3, 3,
      ])
    await comesBack { await send.value }
  }

  @Test(arguments: ["iterator", "sequence", "cancel", "remove", "finish"])
  func aSendReturnsWhenTheIteratorThatItWaitsForEnds(how: String) async {
    let event = Event<Int>()
    var payloads: (any AsyncSequence<Int, Never> & Sendable)? = event.payloads(buffering: .suspendingSender(1))
    event.post(1)
    let began = Gate()
    event.addHandler { _ in began.open() }
    let send = Task { await event.send(2) }
    await began.opened()
    switch how {
    case "iterator": _ = payloads?.makeAsyncIterator()
    case "sequence": payloads = nil
    case "remove": event.removeAll()
    case "cancel":
      let loop = cancelledTask { [payloads] in
        guard let payloads else { return }
        await Self.exhaust(payloads)
      }
      await loop.value
    default:
      event.finish()
      if let payloads { await Self.exhaust(payloads) }
    }
    #expect(await comesBack { await send.value } != nil)
    withExtendedLifetime(payloads) {}
  }

  static func exhaust<S: AsyncSequence<Int, Never>>(_ sequence: S) async { for await _ in sequence {} }

  @Test func aLoopThatSendsToItsOwnEventDoesNotWaitForItself() async {
    let event = Event<Int>()
    let payloads = event.payloads(buffering: .suspendingSender(1))
    event.post(1)
    let seen = await comesBack { () -> [Int] in
      var seen: [Int] = []
      for await number in payloads {
        seen.append(number)
        if number == 1 { for next in 2...5 { await event.send(next) } }
        if number == 5 { break }
      }
      return seen
    }
    #expect(seen == [1, 2, 3, 4, 5])
  }

  @Test func aLoopInsideAHandlerDoesNotWaitForItself() async {
    let (event, start, seen) = (Event<Int>(), Signal(), Recorder<Int>())
    let payloads = event.payloads(buffering: .suspendingSender(1))
    start.addHandler {
      for await number in payloads {
        seen.record(number)
        // Child tasks belong to the handler's call, so their sends do not wait for the loop in that
        // call.
        if number == 1 {
          await withTaskGroup { group in for next in 2...5 { group.addTask { await event.send(next) } } }
        }
        if number == 0 { break }
      }
    }
    start.post()
    event.post(1)
    #expect(await eventually { seen.count == 5 })
    #expect(seen.values.sorted() == [1, 2, 3, 4, 5])
    await comesBack { await event.send(0) }
    await comesBack { await start.quiesce() }
  }
}
