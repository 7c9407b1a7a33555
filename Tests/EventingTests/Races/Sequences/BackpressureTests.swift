import Eventing
import Testing

/// Tests of sends that wait for room in a sequence, and never for themselves (G15, G16).
@Suite(.fewAtATime) struct BackpressureTests {
  static func serve(_ loop: some AsyncSequence<Int, Never>, _ other: Event<Int>) async {
    var count = 0
    for await number in loop {
      count += 1
      if number == 0 { for more in 1...3 { await other.send(more) } }
      if count == 4 { break }
    }
  }

  @Test func aSendThatWaitedBeforeThereWasAnIteratorIsKnownToWaitForIt() async {
    let (event, producer, consumer, waits) = (Event<Int>(), Event<Int>(), Event<Int>(), Gate())
    let payloads = event.payloads(buffering: .suspendingSender(1))
    event.addHandler { if $0 == 1 { waits.open() } }
    producer.addHandler { number in if number == 1 { await event.send(1) } }
    consumer.addHandler { _ in
      for await number in payloads {
        if number == 0 { await producer.send(2) }
        if number == 1 { break }
      }
    }
    event.post(0)
    producer.post(1)
    await waits.opened()
    await comesBack { await consumer.send(0) }
  }

  @Test func loopsOfHandlersThatSendToEachOtherEnd() async {
    for _ in 0..<50 {
      let (a, b, start) = (Event<Int>(), Event<Int>(), Signal())
      let (fromA, fromB) = (a.payloads(buffering: .suspendingSender(1)), b.payloads(buffering: .suspendingSender(1)))
      start.addHandler { await BackpressureTests.serve(fromA, b) }
      start.addHandler { await BackpressureTests.serve(fromB, a) }
      a.post(0)
      b.post(0)
      await comesBack { await start.send() }
    }
  }

  @Test func loopsOfTasksThatSendToEachOtherEnd() async {
    for _ in 0..<50 {
      let (a, b) = (Event<Int>(), Event<Int>())
      let (fromA, fromB) = (a.payloads(buffering: .suspendingSender(1)), b.payloads(buffering: .suspendingSender(1)))
      a.post(0)
      b.post(0)
      await comesBack {
        async let one: Void = BackpressureTests.serve(fromA, b)
        async let two: Void = BackpressureTests.serve(fromB, a)
        _ = await (one, two)
      }
    }
  }

  @Test(arguments: [AsyncDelivery.inOrder, .concurrent(limit: 1), .task]) func aLoopMayAwaitAHandlerThatWaitsForIt(
    place: AsyncDelivery
  )
    async
  {
    let (event, producer) = (Event<Int>(), Event<Int>())
    let payloads = event.payloads(buffering: .suspendingSender(1))
    producer.addHandler(on: place) { _ in for number in 1...2 { await event.send(number) } }
    event.post(0)
    await comesBack {
      for await number in payloads {
        if number == 0 { await producer.send(0) }
        if number == 2 { break }
      }
    }
  }

  @Test func aLoopThatOutlivesTheCallThatStartedItIsStillKnown() async {
    let (start, event, inside, isOver, ended) = (Signal(), Event<Int>(), Gate(), Gate(), Gate())
    start.addHandler { () async in
      let payloads = event.payloads(buffering: .suspendingSender(1))
      Task {
        for await number in payloads {
          inside.open()
          if number == 0 {
            await isOver.opened()
            for more in 1...3 { await event.send(more) }
          }
          if number == 3 { break }
        }
        ended.open()
      }
      await inside.opened()
    }
    let ticket = start.submit()
    #expect(await eventually { event.handlerCount == 1 })
    event.post(0)
    _ = await ticket.report
    isOver.open()
    await comesBack { await ended.opened() }
  }

  @Test func aTaskWithAnUnusedIteratorMaySend() async {
    let event = Event<Int>()
    let payloads = event.payloads(buffering: .suspendingSender(1))
    await comesBack {
      var iterator = payloads.makeAsyncIterator()
      for number in 1...3 { await event.send(number) }
      #expect(await iterator.next(isolation: nil) == 1)
    }
  }

  @Test func anotherTaskIsNotTakenForOneThatHasEnded() async {
    let event = Event<Int>()
    let reader = OneReader(event.payloads(buffering: .suspendingSender(1)).makeAsyncIterator())
    for _ in 0..<100 {
      let (sent, delivered) = (ConditionLock(false), Gate())
      event.post(0)
      _ = await Task.detached { await reader.next() }.value  // a later task usually gets the address of this ended one
      event.post(1)
      let token = event.addHandler { if $0 == 2 { delivered.open() } }
      let task = Task.detached {
        await event.send(2)
        sent.withLock { $0 = true }
      }
      await delivered.opened()
      for _ in 0..<20 { await Task.yield() }
      #expect(!sent.withLock { $0 })
      event.remove(token)
      for _ in 0..<2 { _ = await Task.detached { await reader.next() }.value }
      await task.value
    }
  }

  /// An iterator that several tasks use, one after the other.
  private final class OneReader<Iterator: AsyncIteratorProtocol>: @unchecked Sendable
  where Iterator.Element == Int, Iterator.Failure == Never {
    private var iterator: Iterator
    init(_ iterator: Iterator) { self.iterator = iterator }
    func next() async -> Int? { await iterator.next(isolation: nil) }
  }

  @Test func theEndOfTheEventResumesSendsThatWaitForRoom() async {
    let event = Event<Int>()
    let payloads = event.payloads(buffering: .suspendingSender(1))
    event.post(1)
    let waiting = Task { await event.send(2) }
    while await event.handlers().first?.callCount != 2 { await Task.yield() }
    event.finish()
    await comesBack { _ = await waiting.value }
    #expect(await SequenceTests.take(2, of: payloads) == [1, 2])
  }

  @Test func aLoopEndsWithTheRemovalEvenIfTheEventIsBusy() async {
    for buffering in [Buffering.unbounded, .newest(9)] {
      let (event, inside, gate) = (Event<Int>(), Gate(), Gate())
      let payloads = event.payloads(buffering: buffering)
      event.addHandler { number in
        guard number == 3 else { return }
        inside.open()
        gate.wait()
      }
      for number in 1...2 { event.post(number) }
      let poster = startThread { event.post(3) }
      await inside.opened()
      #expect(event.removeAll() == 2)
      #expect(await SequenceTests.take(9, of: payloads) == [])
      gate.open()
      await poster.opened()
    }
  }

  @Test func aDroppedPayloadCountsOnceHoweverManyIteratorBuffers() async {
    let event = Event<Int>()
    let payloads = event.payloads(buffering: .newest(1))
    let iterator = payloads.makeAsyncIterator()
    for number in 0..<10 { event.post(number) }
    #expect(await event.handlers().map(\.droppedCount) == [9])
    withExtendedLifetime((payloads, iterator)) {}
  }
}

extension SendCompletionTests {
  /// Checks a ring of handlers, each waiting for the next. The ring is so long that a recursive
  /// search would overflow the stack.
  @Test func aRingOfManyWaitsEnds() async {
    let count = 10_000
    let events = (0..<count).map { _ in Event<Int>() }
    for (index, event) in events.enumerated() {
      let next = events[(index + 1) % count]
      event.addHandler { [weak next] left in if left > 0 { await next?.send(left - 1) } }
    }
    await comesBack { await events[0].send(count) }
    for event in events { event.finish() }
  }

  @Test func anAnsweredInquiryDoesNotWaitForTheOtherResponders() async {
    let (event, question, begun, answered, reported) = (Event<Int>(), EventQuestion<Int, Int>(), Gate(), Gate(), Gate())
    let report = ConditionLock<SendReport?>(nil)
    question.addResponder { _ in
      await begun.opened()  // the second responder must begin first: after an answer, it would not be asked
      return 1
    }
    question.addResponder { _ in
      begun.open()
      await answered.opened()
      let it = await event.send(2)
      report.withLock { $0 = it }
      reported.open()
      return 2
    }
    event.addHandler { number in
      guard number == 1 else { return }
      _ = try await question.firstAnswer(to: 0)
      answered.open()
      for _ in 0..<100 { await Task.yield() }
    }
    await event.send(1)
    await reported.opened()
    #expect(report.withLock { $0?.delivered } == 1)
  }
}
