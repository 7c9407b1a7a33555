import Dispatch
import EventingTesting
import Testing

@testable import Eventing
@testable import EventingInspection

/// Tests of guarantee S7: the rows of a trace, and the reading of its ring.
@Suite struct TraceRowTests {
  private func rowName(_ row: Int, in json: TraceJSON) -> String? {
    json.records.first { $0.phase == "M" && $0.row == row }?.args["name"] as? String
  }

  @Test func overlappingCallsOfOneHandlerHaveTwoRows() async throws {
    let event = Event<Int>()
    let (entered, goOn) = (Signal(), Signal())
    let waiting = [goOn.payloads(), goOn.payloads()]
    let bothRun = EventRecorder(entered)
    let token = event.addHandler(.named("overlaps"), on: .concurrent(limit: 2)) { (number: Int) async in
      entered.post()
      for await _ in waiting[number] { return }
    }
    let trace = EventTrace(of: event)
    for number in 0..<2 { event.post(number) }
    try await bothRun.expect(2)
    goOn.post()
    await event.quiesce()
    let json = try TraceJSON(trace)
    #expect(json.faults.isEmpty)
    let calls = json.calls.filter { $0.number("handler") == Int(token.id) }
    #expect(calls.count == 2 && Set(calls.map(\.row)).count == 2)
    let names = calls.compactMap { rowName($0.row, in: json) }
    #expect(names.allSatisfy { $0.hasSuffix(": overlaps") } && names.count { $0.contains(", slot 2") } == 1)
  }

  @Test func aSharedLaneHasItsOwnName() async throws {
    actor Counter {
      func add(_ number: Int) {}
    }
    let (event, counter) = (Event<Int>(), Counter())
    let (queue, lane) = (DispatchQueue(label: "the queue"), HandlerLane("the lane"))
    let tokens = [
      event.addHandler(.named("of main"), on: .main) { (_: Int) in },
      event.addHandler(.named("of queue"), on: .queue(queue)) { (_: Int) in },
      event.addHandler(.named("of lane"), on: .lane(lane)) { (_: Int) async in },
      event.addHandler(isolatedTo: counter) { counter, number in counter.add(number) },
      event.addHandler(.named("alone"), on: .inOrder) { (_: Int) async in },
    ]
    let trace = EventTrace(of: event)
    await event.send(1)
    let json = try TraceJSON(trace)
    let names = tokens.map { token in
      json.calls.first { $0.number("handler") == Int(token.id) }.flatMap { rowName($0.row, in: json) } ?? ""
    }
    let ends = [": main", ": the queue", ": \(lane)", ": Counter", ": alone"]
    #expect(zip(names, ends).allSatisfy { $0.hasPrefix("lane ") && $0.hasSuffix($1) }, "\(names)")
  }

  @Test func aRingIsReadFromAChunkOn() {
    let ring = TraceRing(megabytes: 1)
    for number in 1...3_000 {
      ring.append(TraceRecord(kind: .callBegan, thread: 1, time: UInt64(number), event: 1, sequence: 1))
    }
    let numbers = ring.contents().chunks.map(\.number)
    #expect(numbers.count > 2 && numbers == Array(0..<numbers.count))
    #expect(ring.contents(from: numbers.count - 2).chunks.map(\.number) == Array(numbers.suffix(2)))
    #expect(ring.contents(from: numbers.count).chunks.map(\.number) == [numbers.count - 1])
  }

  @Test func aCallInTwoTracesIsTimedOnce() {
    let (durations, event) = (CallDurations(), Event<Int>())
    let token = event.addHandler { _ in }
    let (first, second) = (EventTrace(of: event), EventTrace(of: event))
    for number in 0..<10 { event.post(number) }
    durations.read()
    #expect(durations.timing(of: token.id)?.count == 10)
    first.stop()
    for number in 0..<5 { event.post(number) }
    durations.read()
    #expect(durations.timing(of: token.id)?.count == 15)
    second.stop()
  }
}
