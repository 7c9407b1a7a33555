import Eventing
import Testing

// Tests of many iterators of one sequence, and of one iterator that many tasks use.
extension SequenceTests {
  @Test(arguments: [true, false]) func makingAndDroppingAnIteratorCostsAsMuchAmongManyAsAmongFew(
    areDroppedBackwards: Bool
  ) async {
    let growth = await growth(from: 500, to: 4_000, isEnough: 3) { count in
      let event = Event<Int>()
      let payloads = event.payloads()
      return processorTime {
        var iterators = (0..<count).map { _ in payloads.makeAsyncIterator() }
        if areDroppedBackwards { while iterators.popLast() != nil {} } else { iterators.removeAll() }
      }
    }
    #expect(growth < 3)  // `growth` would be about 8 if making or dropping an iterator visited all the iterators
  }

  @Test(arguments: [Buffering.unbounded, .newest(8), .oldest(8)])
  func aLoopGoesOnWhereTheOneBeforeHasStopped(_ buffering: Buffering) async {
    let event = Event<Int>()
    do {
      let payloads = event.payloads(buffering: buffering)
      for number in 1...4 { event.post(number) }
      #expect(await payloads.first { _ in true } == 1)
      #expect(await Self.take(2, of: payloads) == [2, 3])
      event.post(5)  // no iterator is there
      #expect(await Self.take(2, of: payloads) == [4, 5])
      event.finish()
      #expect(await payloads.first { _ in true } == nil)
    }
  }

  @Test func aSequenceKeepsItsPlaceOnlyWithItsLastIterator() async {
    let event = Event<Int>()
    do {
      let payloads = event.payloads()
      for number in 1...3 { event.post(number) }
      do {
        var (one, other) = (payloads.makeAsyncIterator(), payloads.makeAsyncIterator())
        #expect(await other.next(isolation: #isolation) == 1)
        #expect(await one.next(isolation: #isolation) == 1)
        _ = consume one  // the other iterator still has everything
        event.post(4)
        #expect(await other.next(isolation: #isolation) == 2)
      }
      #expect(event.handlerCount == 1)
      #expect(await Self.take(2, of: payloads) == [3, 4])
    }
    #expect(event.handlerCount == 0)
  }

  @Test func aSequenceWhoseHandlerWasRemovedDoesNotGoOn() async {
    let event = Event<Int>()
    let payloads = event.payloads()
    for number in 1...3 { event.post(number) }
    #expect(await payloads.first { _ in true } == 1)
    event.removeAll()
    #expect(await payloads.first { _ in true } == nil)
  }

  /// An iterator that several tasks can use, without unsafe code.
  actor Shared {
    private let get: (isolated Shared) async -> Int?

    init(_ event: Event<Int>, _ buffering: Buffering = .unbounded) {
      var iterator = event.payloads(buffering: buffering).makeAsyncIterator()
      get = { actor in
        var copy = iterator
        let payload = await copy.next(isolation: actor)
        iterator = copy
        return payload
      }
    }

    func next() async -> Int? { await get(self) }
  }

  @Test func aTaskThatUsesAnIteratorThatAnotherTaskWaitsOnGetsNothing() async {
    let (event, steps, seen) = (Event<Int>(), StepExecutor(), Recorder<String>())
    let shared = Shared(event)
    func ask(_ name: String) {
      Task(executorPreference: steps) {
        repeat {
          let payload = await shared.next()
          seen.record("\(name) \(payload.map(String.init) ?? "nil")")
          if payload == nil { break }
        } while true
      }
    }
    ask("first")
    while await steps.run() {}
    ask("second")
    while await steps.run() {}
    #expect(seen.values == ["second nil"])
    for number in 1...2 {
      event.post(number)
      while seen.count == number, !Task.isCancelled { await steps.run() }
    }
    event.finish()
    while seen.count == 3, !Task.isCancelled { await steps.run() }
    #expect(seen.values == ["second nil", "first 1", "first 2", "first nil"])
  }

  @Test(arguments: [Buffering.unbounded, .newest(4)])
  func aCancelledTaskThatUsesAnIteratorDoesNotStrandTheTaskThatWaits(
    _ buffering: Buffering
  ) async {
    let (event, steps, seen) = (Event<Int>(), StepExecutor(), Recorder<String>())
    let shared = Shared(event, buffering)
    Task(executorPreference: steps) { seen.record("first \(await shared.next().map(String.init) ?? "nil")") }
    while await steps.run() {}
    let second = Task(executorPreference: steps) {
      seen.record("second \(await shared.next().map(String.init) ?? "nil")")
    }
    second.cancel()
    while seen.count < 2 {  // the cancelled task resumes the other one by a block of Dispatch's pool
      _ = await steps.run()
      await Task.yield()
    }
    #expect(seen.values.sorted() == ["first nil", "second nil"])
  }

  @Test func aSharedIteratorGivesEachPayloadOnceAndAllTasksReturn() async {
    let (event, seen) = (Event<Int>(), Recorder<Int>())
    let (shared, over) = (Shared(event), Counter())
    for _ in 0..<4 {
      Task {
        while !event.isOver {
          if let payload = await shared.next() { seen.record(payload) } else { await Task.yield() }
        }
        over.add()
      }
    }
    await onThread { for number in 0..<2_000 { event.post(number) } }
    #expect(await eventually { seen.count == 2_000 })
    event.finish()
    #expect(await eventually { over.value == 4 })
    #expect(seen.values.sorted() == Array(0..<2_000))
  }
}

extension Event {
  /// Whether the event has finished. If so, the handler that this property adds ends at once.
  fileprivate nonisolated var isOver: Bool {
    let token = addHandler { _ in }
    defer { remove(token) }
    return !contains(token)
  }
}
