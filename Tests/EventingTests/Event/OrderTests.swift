import Dispatch
import Eventing
import Synchronization
import Testing

/// Tests of guarantees G1, G2, G4 and G5: one occurrence at a time, senders in order, nested posts
/// after the current occurrence. If possible, the poster's thread delivers. G3 is in
/// `HandlerOrderTests`.
@Suite(.fewAtATime) struct OrderTests {
  // MARK: G1

  @Test func everyInOrderHandlerSeesTheOrderOfTheSequenceNumbersUnderRacingPosters() async {
    let event = Event<Int>()
    let queue = DispatchQueue(label: "test")
    let seen = (0..<5).map { _ in Recorder<Numbered>() }
    event.occurrences.addHandler { seen[0].record(Numbered($0.sequence, $0.payload)) }
    event.occurrences.addHandler(.priority(-1)) { seen[1].record(Numbered($0.sequence, $0.payload)) }
    event.occurrences.addHandler(on: .background) { seen[2].record(Numbered($0.sequence, $0.payload)) }
    event.occurrences.addHandler(on: .queue(queue)) { seen[3].record(Numbered($0.sequence, $0.payload)) }
    event.occurrences.addHandler { occurrence async in seen[4].record(Numbered(occurrence.sequence, occurrence.payload))
    }
    let overlaps = Overlaps()
    await onThreads(4, until: { overlaps.suffice(1_000) }) { thread, round in
      overlaps.during { event.post(4 * round + thread) }
    }
    await event.quiesce()
    let first = seen[0].values
    #expect(first.map(\.sequence) == Array(1...UInt64(first.count)))
    for recorder in seen.dropFirst() { #expect(recorder.values == first) }
    #expect(overlaps.count > 100)
  }

  @Test func deliveriesNeverOverlapUnderRacingPosters() async {
    let event = Event<Int>()
    let inside = Atomic<Int>(0)
    let most = Atomic<Int>(0)
    let plain = UnsynchronizedCounter()
    for _ in 0..<3 {
      event.addHandler { _ in
        most.max(inside.wrappingAdd(1, ordering: .relaxed).newValue, ordering: .relaxed)
        plain.value += 1
        inside.wrappingSubtract(1, ordering: .relaxed)
      }
    }
    let overlaps = Overlaps()
    let posted = Atomic<Int>(0)
    await onThreads(4, until: { overlaps.suffice(5_000) }) { _, round in
      overlaps.during { event.post(round) }
      posted.wrappingAdd(1, ordering: .relaxed)
    }
    await event.quiesce()
    #expect(most.load(ordering: .relaxed) == 1)
    #expect(plain.value == 3 * posted.load(ordering: .relaxed))
    #expect(overlaps.count > 500)
  }

  @Test func aCallOnALaneDoesNotDelayTheNextOccurrence() async {
    let event = Event<Int>()
    let queue = DispatchQueue(label: "test")
    let (inline, lane) = (Recorder<Int>(), Recorder<Int>())
    event.addHandler(on: .queue(queue)) { lane.record($0) }
    event.addHandler { inline.record($0) }
    queue.suspend()
    event.post(1)
    event.post(2)
    #expect(inline.values == [1, 2])
    #expect(lane.values == [])
    queue.resume()
    await event.quiesce()
    #expect(lane.values == [1, 2])
  }

  // MARK: G2

  @Test func eachThreadsOccurrencesArriveInItsOrder() async {
    let event = Event<Sent>()
    let seen = Recorder<Sent>()
    event.addHandler { seen.record($0) }
    let overlaps = Overlaps()
    await onThreads(4, until: { overlaps.suffice(2_000) }) { thread, round in
      overlaps.during {
        if round % 3 == 0 { _ = event.submit(Sent(thread, round)) } else { event.post(Sent(thread, round)) }
      }
    }
    await event.quiesce()
    for thread in 0..<4 {
      let numbers = seen.values.filter { $0.sender == thread }.map(\.number)
      #expect(numbers == Array(0..<numbers.count))
    }
    #expect(overlaps.count > 200)
  }

  @Test func eachTasksSendsAndPostsArriveInItsOrder() async {
    let event = Event<Sent>()
    let seen = Recorder<Sent>()
    event.addHandler { seen.record($0) }
    await withTaskGroup { group in
      for task in 0..<4 {
        group.addTask {
          for number in 0..<1_000 {
            switch number % 3 {
            case 0: event.post(Sent(task, number))
            case 1: await event.send(Sent(task, number))
            default: _ = event.submit(Sent(task, number))
            }
          }
        }
      }
    }
    await event.quiesce()
    for task in 0..<4 {
      #expect(seen.values.filter { $0.sender == task }.map(\.number) == Array(0..<1_000))
    }
  }

  @Test func anOccurrenceQueuedFirstIsDeliveredBeforeALaterPostOfTheRunningHandler() async {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    let (isInside, isQueued) = (Gate(), Gate())
    event.addHandler { value in
      seen.record(value)
      guard value == 1 else { return }
      isInside.open()
      isQueued.wait()
      event.post(3)
    }
    let poster = startThread {
      event.post(1)
      event.post(4)
    }
    await isInside.opened()
    event.post(2)
    isQueued.open()
    await poster.opened()
    await event.quiesce()
    #expect(seen.values == [1, 2, 3, 4])
    event.removeAll()
  }

  // MARK: G4

  @Test func nestedPostsReachLaterHandlersAfterTheOccurrenceThatCausedThem() {
    let event = Event<Int>()
    let (first, second) = (Recorder<Int>(), Recorder<Int>())
    event.addHandler { [weak event] value in
      first.record(value)
      if value < 3 { event?.post(value + 1) }
    }
    event.addHandler { second.record($0) }
    event.post(1)
    #expect(first.values == [1, 2, 3])
    #expect(second.values == [1, 2, 3])
  }

  @Test func aPostThatComesBackThroughAnotherEventWaitsForTheCurrentOccurrence() {
    let (outer, other) = (Event<Int>(), Event<Int>())
    let seen = Recorder<String>()
    outer.addHandler { [weak other] value in
      seen.record("first \(value)")
      if value == 1 { other?.post(2) }
      seen.record("first \(value) done")
    }
    outer.addHandler { seen.record("second \($0)") }
    other.addHandler { [weak outer] in outer?.post($0) }
    outer.post(1)
    #expect(seen.values == ["first 1", "first 1 done", "second 1", "first 2", "first 2 done", "second 2"])
  }

  @Test func aHundredThousandNestedPostsUseConstantStack() {
    let event = Event<Int>()
    let stack = StackProbe()
    event.addHandler { [weak event] number in
      stack.look()
      // The depth is limited, so that a stack that grows with each post fails the test before it
      // overflows.
      if number < 100_000, stack.depth < 200_000 { event?.post(number + 1) }
    }
    event.post(1)
    #expect(stack.looks == 100_000)
    #expect(stack.depth < 20_000)
  }
}

private struct Numbered: Sendable, Equatable {
  let sequence: UInt64
  let payload: Int
  init(_ sequence: UInt64, _ payload: Int) { (self.sequence, self.payload) = (sequence, payload) }
}

private struct Sent: Sendable, Equatable {
  let sender: Int
  let number: Int
  init(_ sender: Int, _ number: Int) { (self.sender, self.number) = (sender, number) }
}
