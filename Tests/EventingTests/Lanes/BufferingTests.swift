import Dispatch
import Eventing
import Testing

/// Tests of guarantee G15: a lane can be bounded, and every dropped occurrence is counted.
@Suite(.fewAtATime) struct BufferingTests {
  /// Bufferings, each with those of the payloads 1 to 9 that are delivered if the first call blocks
  /// until all are posted.
  static let kept: [(Buffering, [Int])] = [
    (.unbounded, Array(1...9)), (.oldest(3), [1, 2, 3, 4]), (.newest(3), [1, 7, 8, 9]), (.latest, [1, 9]),
    (.suspendingSender(3), [1, 2, 3, 4]), (.oldest(0), [1, 2]), (.newest(-1), [1, 9]),
    (.suspendingSender(.min), [1, 2]),
    (.newest(.max), Array(1...9)),
  ]

  @Test(arguments: BoundedLane.allCases, kept) func payloadsBeyondTheBoundAreDroppedAndCounted(
    lane: BoundedLane, kept: (buffering: Buffering, calls: [Int])
  ) async {
    let (event, calls) = (Event<Int>(), Recorder<Int>())
    let (began, gate) = (Gate(), Gate())
    event.add(
      lane.handler(kept.buffering, until: gate) { number in
        calls.record(number)
        began.open()
      })
    var tickets = [event.submit(1)]
    await began.opened()
    tickets += (2...9).map { event.submit($0) }
    gate.open()
    var reports: [SendReport] = []
    for ticket in tickets { reports.append(await ticket.report) }
    #expect(calls.values == kept.calls)
    #expect(reports.map(\.delivered) == (1...9).map { kept.calls.contains($0) ? 1 : 0 })
    #expect(reports.map(\.dropped) == (1...9).map { kept.calls.contains($0) ? 0 : 1 })
    #expect(reports.allSatisfy { $0.reachedNobody == ($0.dropped == 1) })
    await event.quiesce()
    let snapshot = await event.handlers().first
    #expect(snapshot?.droppedCount == 9 - kept.calls.count)
    #expect(snapshot?.callCount == kept.calls.count)
  }

  @Test(arguments: BoundedLane.allCases) func aSendBeyondTheBoundIsEnqueuedInItsPlace(lane: BoundedLane) async {
    let (event, calls) = (Event<Int>(), Recorder<Int>())
    let (began, gate) = (Gate(), Gate())
    event.add(
      lane.handler(.suspendingSender(2), until: gate) { number in
        calls.record(number)
        began.open()
      })
    let taken = Recorder<Int>()
    event.addHandler { taken.record($0) }  // this handler is called after the lane has enqueued the payload
    event.post(1)
    await began.opened()
    event.post(2)
    event.post(3)
    let dropped = event.submit(4)
    #expect(await dropped.report.dropped == 1)
    async let first = event.send(5)
    #expect(await eventually { taken.values.last == 5 })
    event.post(6)
    async let second = event.send(7)
    #expect(await eventually { taken.values.last == 7 })
    gate.open()
    let reports = await [first, second]
    #expect(reports.map(\.delivered) == [2, 2])
    #expect(calls.values == [1, 2, 3, 5, 7])
    #expect(await event.handlers().first?.droppedCount == 2)
  }

  @Test(arguments: BoundedLane.allCases, [Buffering.newest(1), .oldest(1), .suspendingSender(1)])
  func quiesceWaitsForBufferedCalls(lane: BoundedLane, buffering: Buffering) async {
    let (event, calls) = (Event<Int>(), Recorder<Int>())
    let (began, gate) = (Gate(), Gate())
    event.add(
      lane.handler(buffering, until: gate) { number in
        calls.record(number)
        began.open()
      })
    event.post(1)
    await began.opened()
    for number in 2...5 { event.post(number) }
    let quiet = Task { await event.quiesce() }
    for number in 6...9 { event.post(number) }  // these posts may drop the calls that `quiesce` waits for
    // A post returns before its own delivery if the task of `quiesce` is inside the event. So the
    // test waits until all 9 payloads have come to the lane: one call runs, one waits, 7 are
    // dropped. If the gate opened earlier, the running call would end, and the lane would have room
    // for a third call.
    while await event.handlers().first?.droppedCount != 7 { await Task.yield() }
    gate.open()
    await comesBack { await quiet.value }
    // The first `quiesce` waits for the calls that were queued before it. If posts 6 to 9 have
    // dropped all of these from the lane, the first `quiesce` returns before the last call. The
    // second `quiesce` waits for that call.
    await comesBack { await event.quiesce() }
    #expect(calls.values.count == 2)
  }

  /// An observer may take its time. The call that takes the place of the dropped one begins
  /// meanwhile.
  @Test func anObserverOfADropHoldsUpNoCall() async {
    final class Waiting: EventObserver {
      let other = DispatchSemaphore(value: 0)
      let hasBegun = Recorder<Bool>()
      func observe(_ step: EventStep) {
        if step.kind == .dropped { hasBegun.record(other.wait(timeout: .now() + 30) == .success) }
      }
    }
    let (event, observer, began, gate) = (Event<String>(), Waiting(), Gate(), Gate())
    let observation = event.observe(with: observer)
    event.addHandler(.buffering(.newest(1)), .inOrder(by: \.first), on: .concurrent(limit: 2)) { text async in
      if text == "b" { return _ = observer.other.signal() }
      began.open()
      await gate.opened()
    }
    event.post("a1")
    await began.opened()
    event.post("a2")
    await onThread { event.post("b") }
    gate.open()
    await event.quiesce()
    #expect(observer.hasBegun.values == [true])
    observation.end()
  }

  /// Checks order with more queued calls than a lane makes before it yields its thread.
  @Test(arguments: BoundedLane.allCases) func aLongQueueWithinItsBoundIsDeliveredInOrder(lane: BoundedLane) async {
    let (event, calls, began, gate) = (Event<Int>(), Recorder<Int>(), Gate(), Gate())
    event.add(
      lane.handler(.oldest(2_000), until: gate) { number in
        calls.record(number)
        began.open()
      })
    event.post(0)
    await began.opened()
    for number in 1..<2_000 { event.post(number) }
    gate.open()
    await event.quiesce()
    #expect(calls.values == Array(0..<2_000))
  }

  @Test(arguments: BoundedLane.allCases) func droppedPayloadsAreReleasedAtOnce(lane: BoundedLane) async {
    let (event, began, gate) = (Event<Canary>(), Gate(), Gate())
    event.add(lane.handler(.latest, until: gate) { (_: Canary) in began.open() })
    let live = LiveCount()
    event.post(Canary(live))
    await began.opened()
    for _ in 0..<1_000 { event.post(Canary(live)) }
    #expect(live.alive <= 2)
    gate.open()
    await event.quiesce()
    #expect(live.alive == 0)
  }

  @Test(arguments: BoundedLane.allCases) func aBoundedLaneEndsWithItsEvent(lane: BoundedLane) async {
    var event: Event<Int>? = Event()
    let (calls, began, gate) = (Recorder<Int>(), Gate(), Gate())
    event?.add(
      lane.handler(.newest(2), until: gate) { number in
        calls.record(number)
        began.open()
      })
    event?.post(1)
    await began.opened()
    let tickets = (2...5).compactMap { event?.submit($0) }
    event = nil
    gate.open()
    for ticket in tickets { _ = await comesBack { await ticket.report } }
    #expect(calls.values == [1, 4, 5])
  }

  @Test func aDroppedOccurrenceUsesNoOnceHandlerUp() async {
    let (event, calls) = (Event<Int>(), Recorder<Int>())
    let queue = DispatchQueue(label: "held")
    queue.suspend()
    event.addHandler(.buffering(.latest), .once, on: .queue(queue)) { calls.record($0) }
    let tickets = (1...3).map { event.submit($0) }
    queue.resume()
    var dropped: [Int] = []
    for ticket in tickets { dropped.append(await ticket.report.dropped) }
    #expect(dropped == [1, 1, 0])
    #expect(calls.values == [3])
  }

  @Test func theDescriptionOfADeliveryNamesItsBound() {
    #expect("\(HandlerOption<Int>.buffering(.newest(3)))" == "buffering(newest(3))")
    #expect(
      "\(Handler<Int>(.buffering(.latest), on: .background) { _ in })" == "handler on background(utility), newest(1)")
    #expect("\(AsyncDelivery.concurrent(limit: 2))" == "concurrent(limit: 2)")
    #expect("\(MainDelivery.main)" == "main")
    #expect("\(MainDelivery.main)" == "main")
    #expect("\(AsyncDelivery.inOrder)" == "in order")
  }
}
