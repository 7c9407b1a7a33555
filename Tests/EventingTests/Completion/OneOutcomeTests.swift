import EventingTesting
import Testing

@testable import Eventing
@testable import EventingInspection

/// Tests that the report of an occurrence, the observers, the trace and the handler's snapshot say
/// the same, for each way in which a call may end or not begin (G21, H2, H4, H6, H11).
@Suite(.fewAtATime) struct OneOutcomeTests {
  enum Outcome: String, Sendable { case delivered, failed, skipped, dropped, held }
  struct Problem: Error {}

  /// The words of the observers and of the trace on each occurrence.
  private final class Words: EventObserver, TraceSink {
    let observed = Guarded<[UInt64: [Outcome]]>([:])
    let traced = Guarded<[UInt64: [Outcome]]>([:])
    /// The calls that have begun and not ended, by the observers and by the trace.
    let open = Guarded<(observed: Int, traced: Int)>((0, 0))

    private func tell(_ sequence: UInt64, _ outcome: Outcome) {
      observed.withLock { $0[sequence, default: []].append(outcome) }
    }
    private func trace(_ sequence: UInt64, _ outcome: Outcome) {
      traced.withLock { $0[sequence, default: []].append(outcome) }
    }

    func observe(_ step: EventStep) {
      guard let sequence = step.sequence else { return }
      switch step.kind {
      case .began: open.withLock { $0.observed += 1 }
      case .ended:
        open.withLock { $0.observed -= 1 }
        tell(sequence, step.error == nil ? .delivered : .failed)
      case .dropped:
        if step.duration != nil { open.withLock { $0.observed -= 1 } }
        tell(sequence, .dropped)
      case .skipped: tell(sequence, .skipped)
      case .held: tell(sequence, .held)
      default: break
      }
    }

    func began(_ occurrence: TracedOccurrence, payload: TracedPayload) {}
    func ended(event: EventIdentity, sequence: UInt64) {}
    func began(_ call: TracedCall, of handler: TracedHandler) { open.withLock { $0.traced += 1 } }
    func ended(_ call: TracedCall, of handler: TracedHandler, _ end: TracedEnd) {
      open.withLock { $0.traced -= 1 }
      trace(call.sequence, end == .returned ? .delivered : end == .threw ? .failed : .dropped)
    }
    func withdrew(_ call: TracedCall, of handler: TracedHandler) { open.withLock { $0.traced -= 1 } }
    func noCall(_ reason: TracedNoCall, handler: TracedHandler, event: EventIdentity, sequence: UInt64) {
      trace(sequence, reason == .skipped ? .skipped : reason == .dropped ? .dropped : .held)
    }
  }

  /// One event with one handler.
  final class World: Sendable {
    let event = Event<Int>("e")
    let (clock, gate, begun, steps) = (ManualClock(), Gate(), Recorder<Int>(), StepExecutor())
    private let tickets = Recorder<SendTicket>()
    let attempts = Counter()

    /// A call that waits at the gate if its payload is 1.
    func call(_ payload: Int) async {
      begun.record(payload)
      if payload == 1 { await gate.opened() }
    }
    /// A call that waits at the gate if its payload is 1, whatever becomes of its task.
    func callUncancelled(_ payload: Int) async {
      begun.record(payload)
      if payload == 1 { await Task.detached { await self.gate.opened() }.value }
    }
    func submit(_ count: Int) { for _ in 0..<count { tickets.record(event.submit(tickets.count + 1)) } }
    func begins(_ count: Int = 1) async { #expect(await eventually { begun.count == count }) }
    func passes(_ duration: Duration = .seconds(1)) async {
      #expect(await eventually { clock.sleeperCount > 0 })
      clock.advance(by: duration)
    }
    var reports: [SendReport] {
      get async {
        var reports: [SendReport] = []
        for ticket in tickets.values { reports.append(await ticket.report) }
        return reports
      }
    }
  }

  @Test(arguments: ways) func allSayTheSame(way: Way) async throws {
    let (world, words) = (World(), Words())
    func attach() -> HandlerToken { world.event.add(way.handler(world).with(.named("a"))) }
    let token = way.isStepped ? world.steps.adding(attach) : attach()
    world.event.observe(with: words)
    let tracing = EventTracing(words, world.event.core)
    await way.drive(world, token)
    await world.event.quiesce()
    let reports = await world.reports
    for (place, said) in way.words.enumerated() {
      let (sequence, report) = (UInt64(place + 1), reports[place])
      #expect(words.observed.withLock { $0[sequence] ?? [] } == said, "observers of \(sequence)")
      #expect(words.traced.withLock { $0[sequence] ?? [] } == said, "trace of \(sequence)")
      let counts: [Outcome: Int] = [
        .delivered: report.delivered, .failed: report.failures.count, .skipped: report.skipped,
        .dropped: report.dropped, .held: report.held,
      ]
      #expect(counts.filter { $0.value > 0 } == [said[0] == .held ? .held : said[said.count - 1]: 1], "\(report)")
    }
    #expect(words.open.withLock { $0 == (0, 0) })
    let last = way.words.map { $0[$0.count - 1] }
    func count(_ outcome: Outcome) -> Int { last.count { $0 == outcome } }
    if let handler = await world.event.handlers().first {
      #expect(handler.droppedCount == count(.dropped) && handler.skippedCount == count(.skipped))
      #expect(handler.failedCount == count(.failed))
      #expect(handler.callCount >= count(.delivered) + count(.failed))
    }
    tracing.end()
  }
}
