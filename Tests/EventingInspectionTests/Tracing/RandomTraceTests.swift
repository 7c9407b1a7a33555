import Eventing
import EventingInspection
import EventingTesting
import Foundation
import Testing

/// Tests of guarantee S7: for random programs, a trace has the calls that the handlers logged, in
/// the logged order, with their causes.
@Suite struct RandomTraceTests {
  /// A payload: its number, which no other payload has, and the number of the payload whose handler
  /// sent it.
  struct Step: Sendable {
    let number: Int
    let cause: Int?
    let depth: Int
  }

  @Test(arguments: 1...12) func aTraceIsTrue(seed: UInt64) throws {
    try Simulation.run(seed: seed) { try await RandomTraceTests.program(seed) }
  }

  @Test func aTraceIsTrueOnThreads() async throws {
    for seed in 1...6 { try await RandomTraceTests.program(UInt64(seed)) }
  }

  private static func program(_ seed: UInt64) async throws {
    var random = SplitMix(seed)
    let events = (0..<3).map { Event<Step>("event \($0)") }
    let log = StepLog()
    var tokens: [HandlerToken] = []
    for (place, event) in events.enumerated() {
      for handler in 0..<3 {
        let target = events[Int(random.next() % 3)]
        let sends = random.next() % 2 == 0
        let body: @Sendable (Step) -> Void = { step in
          log.called(place * 3 + handler, step.number)
          guard sends, step.depth < 3 else { return }
          let next = log.nextNumber()
          log.caused(next, by: step.number, handler: place * 3 + handler)
          target.post(Step(number: next, cause: step.number, depth: step.depth + 1))
        }
        switch random.next() % 4 {
        case 0: tokens.append(event.addHandler { step in body(step) })
        case 1: tokens.append(event.addHandler(on: .background) { step in body(step) })
        case 2:
          tokens.append(
            event.addHandler(.retrying(.immediately(attempts: 2)), on: .inOrder) { step async in body(step) })
        default: tokens.append(event.addHandler(on: .inOrder) { step async in body(step) })
        }
      }
    }
    let recorders = events.map { EventRecorder($0.occurrences) }
    let trace = EventTrace(of: events, lastMegabytes: 16)
    for _ in 0..<20 {
      let step = Step(number: log.nextNumber(), cause: nil, depth: 0)
      await events[Int(random.next() % 3)].send(step)
    }
    for _ in 0..<5 { for event in events { await event.quiesce() } }
    trace.stop()
    let json = try TraceJSON(trace)
    #expect(json.faults.isEmpty)
    // The number that the test gave each recorded step (`Step.number`). The key is made of two
    // numbers from the trace: the event's number, and the occurrence's sequence number.
    var numbers: [String: Int] = [:]
    for (event, recorder) in zip(events, recorders) {
      let recorded = recorder.payloads
      #expect(
        json.occurrences.filter { $0.name == event.name }.compactMap { $0.number("sequence") }
          == recorded.map { Int($0.sequence) })
      for occurrence in recorded {
        numbers["\(event.identity.number).\(occurrence.sequence)"] = occurrence.payload.number
      }
    }
    func number(_ record: TraceJSON.Record) -> Int? {
      numbers["\(record.number("event") ?? 0).\(record.number("sequence") ?? 0)"]
    }
    let traced = Dictionary(grouping: json.calls) { $0.number("handler") ?? 0 }
    for (handler, token) in tokens.enumerated() {
      #expect((traced[Int(token.id)] ?? []).map { number($0) } == log.calls(of: handler).map { .some($0) })
    }
    let calls = Dictionary(uniqueKeysWithValues: json.calls.map { ($0.number("call") ?? 0, $0) })
    for occurrence in json.occurrences {
      let cause = occurrence.number("cause").flatMap { calls[$0] }
      let expected = number(occurrence).flatMap { log.cause(of: $0) }
      #expect(cause.flatMap { number($0) } == expected?.step)
      #expect(cause?.number("handler") == expected.map { Int(tokens[$0.handler].id) })
    }
  }
}

/// The calls that the handlers of a random program logged themselves.
final class StepLog: @unchecked Sendable {
  // Safe: `lock` guards everything.
  private let lock = NSLock()
  private var last = 0
  private var calls: [Int: [Int]] = [:]
  private var causes: [Int: (step: Int, handler: Int)] = [:]

  func nextNumber() -> Int {
    lock.withLock {
      last += 1
      return last
    }
  }
  func called(_ handler: Int, _ number: Int) { lock.withLock { calls[handler, default: []].append(number) } }
  func caused(_ number: Int, by step: Int, handler: Int) { lock.withLock { causes[number] = (step, handler) } }
  func calls(of handler: Int) -> [Int] { lock.withLock { (calls[handler] ?? []).map { $0 } } }
  func cause(of number: Int) -> (step: Int, handler: Int)? { lock.withLock { causes[number] } }
}

/// A generator of random numbers from a seed (SplitMix64 by Steele, Lea and Flood, 2014).
private struct SplitMix {
  private var state: UInt64
  init(_ seed: UInt64) { state = seed }
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}
