import Dispatch
import Eventing
import EventingTesting
import Testing

/// Tests of `EventRecorder` in EventingTesting.
@Suite(.fewAtATime) struct RecorderTests {
  @Test func payloadsAreExpectedInTheirOrder() async throws {
    let event = Event<Int>()
    let recorder = EventRecorder(event)
    for number in 1...4 { event.post(number) }
    try await recorder.expect([1, 2])
    #expect(try await recorder.expect(1) == [3])
    let rest = await #expect(throws: RecorderError.self) { try await recorder.expectNone() }
    #expect(rest?.description.hasSuffix(": expected nothing more of Int; there is [4]") == true)
    let other = await #expect(throws: RecorderError.self) { try await recorder.expect([5]) }
    #expect(other?.description.hasSuffix(": expected [5]; came [4]") == true)
    try await recorder.expectNone()
    #expect(recorder.payloads == [1, 2, 3, 4] && recorder.entries.allSatisfy { $0.lane == .task })
    recorder.removeAll()
    #expect(recorder.entries.isEmpty)
    #expect(try await recorder.expect(-1) == [])
  }

  @Test func expectWaitsForLaterPayloads() async throws {
    let (event, clock) = (Event<Int>(), ManualClock())
    let recorder = EventRecorder(event, on: .background)
    async let found = recorder.expect(3)
    startThread { for number in 1...3 { event.post(number) } }
    #expect(try await found == [1, 2, 3])
    #expect(recorder.entries.last.map { "\($0)" } == "3 on a thread")
    async let late = recorder.expect(1, within: .seconds(5), clock: clock)
    await clock.waitForSleepers()
    clock.advance(by: .seconds(5))
    do {
      _ = try await late
      Issue.record("nothing came")
    } catch { #expect("\(error)".hasSuffix(": expected 1 of Int within 5.0 seconds; there are 0: []")) }
  }

  @Test func expectationsThatWaitTogetherAreServedInTheirOrder() async throws {
    let (event, clock) = (Event<Int>(), ManualClock())
    let recorder = EventRecorder(event)
    async let two = recorder.expect(2, within: .seconds(5), clock: clock)
    #expect(await eventually { clock.sleeperCount == 1 })
    async let one = recorder.expect(1, within: .seconds(5), clock: clock)
    #expect(await eventually { clock.sleeperCount == 2 })
    event.post(1)
    for _ in 0..<100 { await Task.yield() }  // time for the second expectation to take what belongs to the first
    event.post(2)
    event.post(3)
    #expect(try await two == [1, 2])
    #expect(try await one == [3])
  }

  @Test func anExpectationThatEndsLeavesItsPayloadsToTheNext() async throws {
    let (event, clock) = (Event<Int>(), ManualClock())
    let recorder = EventRecorder(event)
    let two = Task { try await recorder.expect(2, within: .seconds(5), clock: clock) }
    #expect(await eventually { clock.sleeperCount == 1 })
    let one = Task { try await recorder.expect(1, within: .seconds(10), clock: clock) }
    #expect(await eventually { clock.sleeperCount == 2 })
    event.post(1)
    clock.advance(by: .seconds(5))
    await #expect(throws: RecorderError.self) { try await two.value }
    #expect(try await one.value == [1])
  }

  @Test func anErrorSaysThatThePayloadsBelongToAnEarlierExpectation() async throws {
    let (event, clock) = (Event<Int>(), ManualClock())
    let recorder = EventRecorder(event)
    let two = Task { try await recorder.expect(2, within: .seconds(5), clock: clock) }
    #expect(await eventually { clock.sleeperCount == 1 })
    event.post(1)
    let error = await #expect(throws: RecorderError.self) { try await recorder.expect(1, within: .zero) }
    #expect(
      error?.description.hasSuffix(
        ": expected 1 of Int within 0.0 seconds; there are 1, for which an earlier expectation waits: [1]") == true)
    event.post(2)
    #expect(try await two.value == [1, 2])
  }

  @Test func anErrorNamesTheExpectedPayloadsAndThoseThatCame() async throws {
    let (event, clock) = (Event<String>(), ManualClock())
    let recorder = EventRecorder(event)
    event.post("coffee")
    let tooFew = await #expect(throws: RecorderError.self) {
      try await recorder.expect(["tea", "milk"], within: .zero)
    }
    #expect(
      tooFew?.description.hasSuffix(#": expected ["tea", "milk"] within 0.0 seconds; there are 1: ["coffee"]"#) == true)
    let other = await #expect(throws: RecorderError.self) { try await recorder.expect(["tea"]) }
    #expect(other?.description.hasSuffix(#": expected ["tea"]; came ["coffee"]"#) == true)
    let waiting = Task { try await recorder.expect(2, within: .seconds(5), clock: clock) }
    #expect(await eventually { clock.sleeperCount == 1 })
    waiting.cancel()
    let cancelled = await #expect(throws: RecorderError.self) { _ = try await waiting.value }
    #expect(
      cancelled?.description.hasSuffix(": expected 2 of String; the task was cancelled; there are 0: []") == true)
  }

  @Test func aRecorderInASimulationMeasuresByTheClockOfThat() throws {
    let failure = #expect(throws: SimulationFailure.self) {
      try Simulation.run(seed: 1) {
        let event = Event<Int>()
        let recorder = EventRecorder(event)
        event.post(1, after: .seconds(3_600), clock: Simulation.clock)
        try await recorder.expect([1], within: .seconds(3_601))
        try await recorder.expect([2], within: .seconds(3_600))
      }
    }
    #expect(failure?.error is RecorderError && failure?.description.contains("RecorderTests.swift:") == true)
  }

  @Test func anErrorNamesTheLineOfItsExpectation() async throws {
    let event = Event<Int>()
    let recorder = EventRecorder(event)
    event.post(1)
    let line = #line + 1
    let rest = await #expect(throws: RecorderError.self) { try await recorder.expectNone() }
    let late = await #expect(throws: RecorderError.self) { try await recorder.expect(2, within: .zero) }
    let other = await #expect(throws: RecorderError.self) { try await recorder.expect([2]) }
    #expect(rest?.line == line && late?.line == line + 1 && other?.line == line + 2)
    #expect(rest?.fileID == #fileID)
    #expect(rest?.description == "\(#fileID):\(line): expected nothing more of Int; there is [1]")

    // A helper that passes on the line of its caller.
    func expectOne(fileID: String = #fileID, line: Int = #line) async throws {
      try await recorder.expect([3], within: .zero, fileID: fileID, line: line)
    }
    let helped = await #expect(throws: RecorderError.self) { try await expectOne() }
    #expect(helped?.line == #line - 1)
  }

  @Test func expectNoneWaitsForTheEventBehindAView() async throws {
    let (event, keyed, value) = (Event<Int>(), KeyedEvent<String, Int>(), Observed(0))
    let queue = DispatchQueue(label: "recorders")
    let view = EventRecorder(event.filter { $0 > 0 }, on: .queue(queue))
    let key = EventRecorder(keyed["a"], on: .queue(queue))
    let new = EventRecorder(value.newValues, on: .queue(queue))
    queue.suspend()
    event.post(1)
    keyed.post(2, to: "a")
    value.value = 3
    let checks = [view, key, new].map { recorder in Task { try await recorder.expectNone() } }
    for _ in 0..<100 { await Task.yield() }
    queue.resume()
    for check in checks { await #expect(throws: RecorderError.self) { try await check.value } }
    #expect(view.payloads == [1] && key.payloads == [2] && new.payloads == [3])
  }

  @Test func aRecorderListensOnItsDeliveryUntilItIsReleased() async throws {
    let event = Event<Int>()
    var recorder: EventRecorder<Int>? = EventRecorder(event, on: .main)
    event.post(1)
    try await recorder?.expect([1])
    #expect(recorder?.entries.first?.lane == .main)
    recorder = EventRecorder(event, asynchronouslyOn: .inOrder)
    event.post(2)
    try await recorder?.expect([2])
    #expect(await eventually { event.handlerCount == 1 })  // a call of the first recorder may not have returned yet
    recorder = nil
    #expect(await eventually { event.handlerCount == 0 })
  }

  @Test func aSourceIsRecordedToo() async throws {
    let event = Event<Int>()
    let recorder = EventRecorder(event.map { -$0 })
    event.post(1)
    try await recorder.expect([-1])
    try await recorder.expectNone()
  }

  @Test func expectDuringRemoveAllWaitsForLaterPayloads() async throws {
    let event = Event<Int>()
    let recorder = EventRecorder(event)
    event.post(1)
    _ = try await recorder.expect(1)
    let waiting = Task { try await recorder.expect(1, within: .seconds(50)) }
    for _ in 0..<10 { await Task.yield() }  // by now `expect` usually waits
    recorder.removeAll()
    event.post(2)
    #expect(try await waiting.value == [2])
  }

  @Test(arguments: [false, true]) func aRecorderNoticesTheEndOfItsHandler(isFinished: Bool) async throws {
    let event = Event<Int>()
    let recorder = EventRecorder(event)
    event.post(1)
    let waiting = Task { try await recorder.expect(2, within: .seconds(300)) }
    for _ in 0..<10 { await Task.yield() }  // by now `expect` usually waits
    if isFinished { event.finish() } else { event.removeAll() }
    let error = await #expect(throws: RecorderError.self) { try await waiting.value }
    #expect(error?.description.contains("the recorder's handler was removed") == true)
    try await recorder.expect([1])
    await #expect(throws: RecorderError.self) { try await recorder.expect(1, within: .seconds(300)) }
    event.post(2)
    // An event that has ended sends no more.
    if isFinished { return try await recorder.expectNone() }
    await #expect(throws: RecorderError.self) { try await recorder.expectNone() }
  }
}
