import Synchronization
import Testing

@testable import Eventing
@testable import EventingInspection

/// Tests of the calls that a sink receives from a trace: see ``TraceSink``.
@Suite struct TraceSinkTests {
  private final class Log: TraceSink {
    let lines = Guarded<[String]>([])
    let causes = Guarded<[String: UInt64]>([:])
    let calls = Guarded<[String: UInt64]>([:])

    func began(_ occurrence: TracedOccurrence, payload: TracedPayload) {
      let text = payload.copy(as: Int.self).map { " \($0)" } ?? ""
      lines.withLock { $0.append("\(occurrence.event)#\(occurrence.sequence)\(text)") }
      causes.withLock { $0["\(occurrence.event)#\(occurrence.sequence)"] = occurrence.cause }
    }
    func ended(event: EventIdentity, sequence: UInt64) { lines.withLock { $0.append("end \(event)#\(sequence)") } }
    func began(_ call: TracedCall, of handler: TracedHandler) {
      lines.withLock { $0.append("call \(handler.name)") }
      calls.withLock { $0["\(handler.name)#\(call.sequence)"] = call.number }
    }
    func ended(_ call: TracedCall, of handler: TracedHandler, _ end: TracedEnd) {
      lines.withLock { $0.append("\(end) \(handler.name)") }
    }
    func withdrew(_ call: TracedCall, of handler: TracedHandler) {
      lines.withLock { $0.append("withdrew \(handler.name)") }
    }
    func noCall(_ reason: TracedNoCall, handler: TracedHandler, event: EventIdentity, sequence: UInt64) {
      lines.withLock { $0.append("\(reason) \(handler.name)") }
    }
    var all: [String] { lines.withLock { lines in lines.map { line in line } } }
  }

  private func trace(_ event: some HandlerRegistry, _ log: Log) throws -> EventTracing {
    try #require(event.handlerTable.inspected[0].trace(with: log))
  }

  @Test func aSinkIsToldOfCallsInOrder() async throws {
    let log = Log()
    let event = Event<Int>("e")
    event.addHandler(.named("a")) { _ in }
    event.addHandler(.named("b")) { _ in throw CancellationError() }
    let locked = event.addHandler(.named("c")) { _ in }
    event.lock(locked)
    let tracing = try trace(event, log)
    let report = await event.send(7)
    #expect(report.delivered == 1 && report.failures.count == 1 && report.skipped == 1 && event.handlerCount == 3)
    tracing.end()
    event.post(8)
    #expect(log.all == ["e#1 7", "call a", "returned a", "call b", "threw b", "skipped c", "end e#1"])
  }

  @Test func aPostOfAHandlerHasThatCallAsItsCause() async throws {
    let log = Log()
    let (first, second, third) = (Event<Int>("1"), Event<Int>("2"), Event<Int>("3"))
    first.addHandler(.named("inline")) { number in second.post(number) }
    second.addHandler(.named("lane"), on: .inOrder) { (number: Int) async in await third.send(number) }
    third.addHandler(.named("last")) { _ in }
    let tracings = try [first, second, third].map { try trace($0, log) }
    first.post(1)
    second.post(2)
    await second.quiesce()
    let (causes, calls) = (log.causes.withLock { $0 }, log.calls.withLock { $0 })
    #expect(causes["1#1"] == 0 && causes["2#1"] == calls["inline#1"] && causes["2#2"] == 0)
    #expect(causes["3#1"] == calls["lane#1"] && causes["3#2"] == calls["lane#2"])
    for tracing in tracings { tracing.end() }
  }

  @Test func keyedEventsAndDropsAreTraced() async throws {
    let log = Log()
    let keyed = KeyedEvent<String, Int>("k")
    keyed["x"].addHandler(.named("x")) { _ in }
    let tracing = try trace(keyed, log)
    keyed.post(1, to: "x")
    keyed.post(2, to: "y")
    #expect(log.all == ["k#1", "call x", "returned x", "end k#1", "k#2", "end k#2"])
    tracing.end()
  }

  @Test func anEventHasItsFastPathBackAfterTheTrace() throws {
    let log = Log()
    let event = Event<Int>()
    event.addHandler { _ in }
    let tracing = try trace(event, log)
    event.post(1)
    #expect(event.core.mustEnqueue && event.core.isTraced)
    tracing.end()
    event.post(2)
    #expect(!event.core.mustEnqueue && !event.core.isTraced)
  }

  @Test func anObserverBesideATraceIsToldAsWithoutIt() throws {
    let (log, box) = (Log(), CallCounter.Box())
    let event = Event<Int>("e")
    event.addHandler(.named("a")) { _ in }
    let tracing = try trace(event, log)
    let observation = event.observe(with: CallCounter(box: box))
    event.post(1)
    tracing.end()
    event.post(2)
    observation.end()
    event.post(3)
    #expect(box.ended.load(ordering: .relaxed) == 2 && log.all.count == 4)
  }
}

/// An observer that counts the calls that have ended.
private struct CallCounter: EventObserver {
  final class Box: Sendable { let ended = Atomic<Int>(0) }
  let box: Box
  func observe(_ step: EventStep) { if step.kind == .ended { box.ended.wrappingAdd(1, ordering: .relaxed) } }
}
