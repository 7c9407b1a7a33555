import EventingTesting
import Testing

@testable import Eventing

/// Tests that the report of an occurrence, the observers, the trace and the handler's snapshot say
/// the same, for each way in which a call may end or not begin (G21, H2, H4, H6, H11).
@Suite(.fewAtATime, .timeLimit(.minutes(30))) struct OneOutcomeTests {
  enum Outcome: String, Sendable { case delivered, failed, skipped, dropped, held }
  struct Problem: Error {}

  /// What the observers and the trace say of each occurrence.
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

    func began(_ handler: HandlerToken, sequence: UInt64, in event: EventIdentity) {
      open.withLock { $0.observed += 1 }
    }
    func ended(
      _ handler: HandlerToken, sequence: UInt64, duration: Duration, error: (any Error)?, in event: EventIdentity
    ) {
      open.withLock { $0.observed -= 1 }
      tell(sequence, error == nil ? .delivered : .failed)
    }
    func skipped(_ handler: HandlerToken, sequence: UInt64, in event: EventIdentity) { tell(sequence, .skipped) }
    func dropped(_ handler: HandlerToken, sequence: UInt64, in event: EventIdentity) { tell(sequence, .dropped) }
    func dropped(_ handler: HandlerToken, sequence: UInt64, after duration: Duration, in event: EventIdentity) {
      open.withLock { $0.observed -= 1 }
      tell(sequence, .dropped)
    }
    func held(_ handler: HandlerToken, sequence: UInt64, in event: EventIdentity) { tell(sequence, .held) }

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
    let (clock, gate, begun) = (ManualClock(), Gate(), Recorder<Int>())
    private let tickets = Recorder<Ticket>()
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

  struct Way: Sendable, CustomTestStringConvertible {
    let name: String
    /// All that is said of each occurrence, in order. The report says the last word of the first
    /// call, or `held`.
    let words: [[Outcome]]
    let handler: @Sendable (World) -> Handler<Int>
    let drive: @Sendable (World, HandlerToken) async -> Void
    var testDescription: String { name }

    init(
      _ name: String, _ words: [[Outcome]], _ handler: @escaping @Sendable (World) -> Handler<Int>,
      _ drive: @escaping @Sendable (World, HandlerToken) async -> Void
    ) {
      (self.name, self.words, self.handler, self.drive) = (name, words, handler, drive)
    }
  }

  private static let places: [(String, AsyncDelivery)] = [
    ("in order", .inOrder), ("concurrent", .concurrent(limit: 2)), ("task", .task), ("lane", .lane(Lane("l"))),
  ]
  private static let serial: [(String, AsyncDelivery)] = [
    ("in order", .inOrder), ("one at a time", .concurrent(limit: 1)), ("lane", .lane(Lane("l"))),
    ("wide lane", .lane(Lane("w", limit: 1), buffering: .newest(9))),
  ]
  private static let twice = RetryPolicy.backoff(from: .seconds(1), to: .seconds(1), attempts: 2, jitter: false)

  static let ways: [Way] =
    places.flatMap { name, place -> [Way] in
      [
        Way("returns, \(name)", [[.delivered]], { w in Handler(on: place) { await w.call($0 + 1) } }) { w, _ in
          w.submit(1)
        },
        Way("throws, \(name)", [[.failed]], { _ in Handler(on: place) { (_: Int) async throws in throw Problem() } }) {
          w, _ in w.submit(1)
        },
        Way(
          "time limit obeyed, \(name)", [[.failed]],
          { w in Handler(on: place) { await w.call($0) }.timingOut(after: .seconds(1), clock: w.clock) }
        ) { w, _ in
          w.submit(1)
          await w.begins()
          await w.passes()
        },
        Way(
          "time limit ignored, \(name)", [[.failed]],
          { w in
            Handler(on: place) { await w.callUncancelled($0) }.timingOut(after: .seconds(1), clock: w.clock)
          }
        ) { w, _ in
          w.submit(1)
          await w.begins()
          await w.passes()
          #expect(await eventually { w.clock.sleeperCount == 0 })
          w.gate.open()
        },
        Way(
          "retried, \(name)", [[.failed, .delivered]],
          { w in
            Handler(on: place) { (_: Int) async throws in if w.attempts.add() == 1 { throw Problem() } }
              .retrying(twice, clock: w.clock)
          }
        ) { w, _ in
          w.submit(1)
          await w.passes()
        },
        Way(
          "retried in vain, \(name)", [[.failed, .failed]],
          { w in
            Handler(on: place) { (_: Int) async throws in throw Problem() }.retrying(twice, clock: w.clock)
          }
        ) { w, _ in
          w.submit(1)
          await w.passes()
        },
      ]
    }
    + serial.flatMap { name, place -> [Way] in
      [
        Way("removed meanwhile, \(name)", [[.delivered], [.skipped]], { w in Handler(on: place) { await w.call($0) } })
        { w, token in
          w.submit(2)
          await w.begins()
          w.event.remove(token)
          w.gate.open()
        },
        Way("used up meanwhile, \(name)", [[.delivered], [.skipped]], { w in
          Handler(on: place) { await w.call($0) }.once()
        }) { w, _ in
          w.submit(2)
          w.gate.open()
        },
        Way(
          "locked meanwhile, \(name)", [[.delivered], [.skipped]], { w in Handler(on: place) { await w.call($0) } }
        ) { w, token in
          w.submit(2)
          await w.begins()
          w.event.lock(token)
          w.gate.open()
          _ = await w.reports
        },
        Way(
          "held meanwhile, \(name)", [[.delivered], [.held, .delivered]],
          { w in Handler(on: place) { await w.call($0) } }
        ) { w, token in
          w.submit(2)
          await w.begins()
          w.event.lock(token, holding: .latest)
          w.gate.open()
          _ = await w.reports
          w.event.unlock(token)
        },
      ]
    } + [
      Way("bounded, oldest", [[.delivered], [.delivered], [.dropped]], { w in
        Handler(on: .inOrder(buffering: .oldest(1))) { await w.call($0) }
      }) { w, _ in
        w.submit(1)
        await w.begins()
        w.submit(2)
        w.gate.open()
      },
      Way("bounded, newest", [[.delivered], [.dropped], [.delivered]], { w in
        Handler(on: .inOrder(buffering: .newest(1))) { await w.call($0) }
      }) { w, _ in
        w.submit(1)
        await w.begins()
        w.submit(2)
        w.gate.open()
      },
      Way("held, the older replaced", [[.held, .skipped], [.held, .delivered]], { w in
        Handler { (payload: Int) in w.begun.record(payload) }
      }) { w, token in
        w.event.lock(token, holding: .latest)
        w.submit(2)
        w.event.unlock(token)
      },
      Way("held, no room", [[.held, .delivered], [.skipped]], { w in
        Handler { (payload: Int) in w.begun.record(payload) }
      }) { w, token in
        w.event.lock(token, holding: .upTo(1))
        w.submit(2)
        w.event.unlock(token)
      },
      Way("batch", [[.delivered], [.delivered]], { w in Handler(batchesOf: 2, within: .seconds(1)) { _ in } }) {
        w, _ in w.submit(2)
      },
      Way("batch that throws", [[.failed], [.failed]], { w in
        Handler(batchesOf: 2, within: .seconds(1)) { _ async throws in throw Problem() }
      }) { w, _ in w.submit(2) },
      Way("batch, removed meanwhile", [[.skipped], [.skipped]], { w in
        Handler(batchesOf: 3, within: .seconds(1), clock: w.clock) { _ in }
      }) { w, token in
        w.submit(2)
        w.event.remove(token)
      },
      Way("throttled", [[.delivered], [.dropped], [.delivered]], { w in
        Handler(on: .inOrder) { await w.call($0 + 1) }.throttled(to: .seconds(1), clock: w.clock)
      }) { w, _ in
        w.submit(3)
        await w.passes()
      },
      Way("throttled, inline", [[.delivered], [.dropped], [.delivered]], { w in
        Handler { (payload: Int) in w.begun.record(payload) }.throttled(to: .seconds(1), clock: w.clock)
      }) { w, _ in
        w.submit(3)
        await w.passes()
      },
      Way("debounced", [[.dropped], [.dropped], [.delivered]], { w in
        Handler(on: .inOrder) { await w.call($0 + 1) }.debounced(for: .seconds(1), clock: w.clock)
      }) { w, _ in
        w.submit(3)
        await w.passes()
      },
      Way("debounced, removed meanwhile", [[.skipped]], { w in
        Handler(on: .inOrder) { await w.call($0 + 1) }.debounced(for: .seconds(1), clock: w.clock)
      }) { w, token in
        w.submit(1)
        w.event.remove(token)
      },
      Way("restarting, cancelled, throws", [[.dropped], [.delivered]], { w in
        Handler(on: .restarting) { (payload: Int) async throws in
          await w.call(payload)
          try Task.checkCancellation()
        }
      }) { w, _ in
        w.submit(1)
        await w.begins()
        w.submit(1)
      },
      Way("restarting, cancelled, returns", [[.dropped], [.delivered]], { w in
        Handler(on: .inOrder) { await w.call($0) }.restarting()
      }) { w, _ in
        w.submit(1)
        await w.begins()
        w.submit(1)
      },
      Way("restarting, replaced while it waits", [[.dropped], [.dropped], [.delivered]], { w in
        Handler(on: .restarting) { await w.callUncancelled($0) }
      }) { w, _ in
        w.submit(1)
        await w.begins()
        w.submit(2)
        w.gate.open()
      },
      Way("restarting, replaced between two attempts", [[.failed, .dropped], [.delivered]], { w in
        Handler(on: .restarting) { (payload: Int) async throws in if payload == 1 { throw Problem() } }
          .retrying(twice, clock: w.clock)
      }) { w, _ in
        w.submit(1)
        #expect(await eventually { w.clock.sleeperCount == 1 })
        w.submit(1)
      },
    ]

  @Test(arguments: ways) func allSayTheSame(way: Way) async throws {
    let (world, words) = (World(), Words())
    let token = world.event.attach(way.handler(world).named("a"))
    world.event.observe(with: words)
    let tracing = EventTracing(words, world.event.core)
    world.event.core.trace(with: tracing, "e")
    await way.drive(world, token)
    await world.event.quiesce()
    let reports = await world.reports
    for (place, said) in way.words.enumerated() {
      let (sequence, report) = (UInt64(place + 1), reports[place])
      #expect(words.observed.withLock { $0[sequence] ?? [] } == said, "observers of \(sequence)")
      #expect(words.traced.withLock { $0[sequence] ?? [] } == said, "trace of \(sequence)")
      let counts: [Outcome: Int] = [
        .delivered: report.delivered, .failed: report.failures.count, .skipped: report.skipped,
        .dropped: report.dropped, .held: report.deferred,
      ]
      #expect(counts.filter { $0.value > 0 } == [said[0] == .held ? .held : said[said.count - 1]: 1], "\(report)")
    }
    #expect(words.open.withLock { $0 == (0, 0) })
    let last = way.words.map { $0[$0.count - 1] }
    func count(_ outcome: Outcome) -> Int { last.count { $0 == outcome } }
    if let handler = await world.event.handlers.first {
      #expect(handler.droppedCount == count(.dropped) && handler.skippedCount == count(.skipped))
      #expect(handler.failedCount == count(.failed))
      #expect(handler.callCount >= count(.delivered) + count(.failed))
    }
    tracing.end()
  }
}
