import EventingTesting
import Testing

@testable import Eventing
@testable import EventingInspection

/// Tests of guarantee S7 with random programs: keys, observed values, locks, once handlers, tasks,
/// forwards, and sends inside handlers.
@Suite struct RandomProgramTests {
  /// A payload that a random program sends, with a number of its own.
  struct Step: Sendable {
    let number: Int
    let depth: Int
  }

  @Test(arguments: 1...10) func aTraceIsTrue(seed: UInt64) throws {
    try Simulation.run(seed: seed) { try await RandomProgram(seed).run() }
  }

  @Test func aTraceIsTrueOnThreads() async throws {
    for seed in 1...5 { try await RandomProgram(UInt64(seed)).run() }
  }
}

private typealias Step = RandomProgramTests.Step

/// Events, their handlers, and the log of what the handlers did.
private final class RandomProgram: Sendable {
  struct Log {
    var last = 0
    var lastHandler = 0
    /// The calls, in the order in which they were logged.
    var calls: [(handler: Int, number: Int)] = []
    var causes: [Int: (number: Int, handler: Int)] = [:]
    var tokens: [HandlerToken] = []
    var inline: Set<Int> = []
    var random: UInt64
  }

  let (event, forwarded) = (Event<Step>("event"), Event<Step>("forwarded"))
  let keyed = KeyedEvent<Int, Step>("keyed")
  let value = Observed(Step(number: 0, depth: 0))
  private let log: Guarded<Log>

  init(_ seed: UInt64) { log = Guarded(Log(random: seed &* 0x9E37_79B9_7F4A_7C15)) }

  /// Returns a random number below a limit.
  private func random(_ limit: UInt64) -> Int {
    log.withLock { log in
      log.random = log.random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int((log.random >> 33) % limit)
    }
  }

  private func newStep(after step: Step?, in handler: Int) -> Step {
    log.withLock { log in
      log.last += 1
      if let step { log.causes[log.last] = (step.number, handler) }
      return Step(number: log.last, depth: step.map { $0.depth + 1 } ?? 0)
    }
  }

  /// Posts a step to the event or to a key, or sets the observed value, as `place` says.
  private func emit(_ step: Step, to place: Int) {
    switch place {
    case 0: event.post(step)
    case 1: keyed.post(step, to: step.number % 2)
    default: value.value = step
    }
  }

  /// Adds a random handler to a source.
  private func add(to source: some EventSource<Step>) {
    let handler = log.withLock { log -> Int in
      log.lastHandler += 1
      return log.lastHandler - 1
    }
    let (place, emits, waits) = (random(3), random(5) < 2, random(2) == 0)
    let called: @Sendable (Step) -> Step? = { [self] step in
      log.withLock { $0.calls.append((handler, step.number)) }
      return emits && step.depth < 2 ? newStep(after: step, in: handler) : nil
    }
    let body: @Sendable (Step) -> Void = { [self] step in
      if let next = called(step) { emit(next, to: place) }
    }
    let asyncBody: @Sendable (Step) async -> Void = { [self] step in
      guard let next = called(step) else { return }
      await Task.yield()
      if waits { await event.send(next) } else { emit(next, to: place) }
    }
    let kind = random(6)
    let token =
      switch kind {
      case 0, 1: source.addHandler(kind == 1 ? .once : .options()) { step in body(step) }
      case 2: source.addHandler(on: .background) { step in body(step) }
      case 3: source.addHandler(on: .task) { step async in await asyncBody(step) }
      case 4: source.addHandler(on: .concurrent(limit: 2)) { step async in await asyncBody(step) }
      default: source.addHandler(on: .inOrder) { step async in await asyncBody(step) }
      }
    log.withLock { log in
      log.tokens.append(token)
      if kind < 2 { log.inline.insert(handler) }
    }
  }

  func run() async throws {
    for _ in 0..<3 {
      add(to: event)
      add(to: forwarded)
      add(to: keyed[0])
      add(to: keyed[1])
      add(to: value.newValues)
    }
    let forward = event.forward(to: forwarded)
    let trace = EventTrace(of: event, forwarded, keyed, value, lastMegabytes: 16)
    let numbers = NumberSink()
    let events: [any HandlerRegistry] = [event, forwarded, keyed, value]
    let tracings = events.flatMap(\.handlerTable.inspected).compactMap { $0.trace(with: numbers) }
    let first = log.withLock { $0.tokens[0] }
    for round in 0..<10 {
      if round == 5 { event.lock(first) }
      if round == 8 { event.unlock(first) }
      let step = newStep(after: nil, in: 0)
      switch random(4) {
      case 0: await event.send(step)
      case 1: await keyed.send(step, to: 1)
      case let place: emit(step, to: place - 2)
      }
    }
    for _ in 0..<8 {
      await event.quiesce()
      await forwarded.quiesce()
      await keyed.quiesce()
      await value.quiesce()
    }
    trace.stop()
    for tracing in tracings { tracing.end() }
    try judge(TraceJSON(trace), numbers, forward)
    for token in log.withLock({ log in log.tokens.map { $0 } }) { event.remove(token) }
    // Removes the handlers that are left, because they retain the program.
    event.finish()
    forwarded.finish()
    keyed.finish()
    value.removeAll()
  }

  private func judge(_ json: TraceJSON, _ sink: NumberSink, _ forward: HandlerToken) throws {
    #expect(json.faults.isEmpty, "\(json.faults)")
    let log = log.withLock { $0 }
    let numbers = sink.numbers.withLock { $0 }
    func number(_ record: TraceJSON.Record) -> Int? {
      numbers["\(record.number("event") ?? 0).\(record.number("sequence") ?? 0)"]
    }
    let handlers = Dictionary(uniqueKeysWithValues: log.tokens.enumerated().map { (Int($1.id), $0) })
    // The trace has the calls that each handler logged: in order if the handler is inline.
    // Overlapping calls log in any order.
    for (handler, token) in log.tokens.enumerated() {
      let logged = log.calls.filter { $0.handler == handler }.map(\.number)
      let traced = json.calls.filter { $0.number("handler") == Int(token.id) }.map { number($0) ?? -1 }
      #expect(traced.sorted() == logged.sorted())
      if log.inline.contains(handler) { #expect(traced == logged) }
    }
    // The inline handlers of each occurrence are traced in the order in which they logged their
    // calls.
    for occurrence in json.occurrences {
      let traced = json.calls.filter {
        $0.number("event") == occurrence.number("event") && $0.number("sequence") == occurrence.number("sequence")
      }.compactMap { handlers[$0.number("handler") ?? 0] }.filter { log.inline.contains($0) }
      let logged = log.calls.filter { $0.number == number(occurrence) && log.inline.contains($0.handler) }
      #expect(traced == logged.map(\.handler).filter { traced.contains($0) })
    }
    let calls = Dictionary(uniqueKeysWithValues: json.calls.map { ($0.number("call") ?? 0, $0) })
    for occurrence in json.occurrences {
      let cause = occurrence.number("cause").flatMap { calls[$0] }
      let sent = number(occurrence) ?? -1
      if occurrence.name == "forwarded" {
        #expect(cause?.number("handler") == Int(forward.id) && cause.flatMap { number($0) } == sent)
      } else {
        let expected = log.causes[sent]
        #expect(cause.flatMap { number($0) } == expected?.number, "\(occurrence.name) \(sent)")
        #expect(cause?.number("handler") == expected.map { Int(log.tokens[$0.handler].id) })
      }
    }
    #expect(json.occurrences.count == numbers.count)
  }
}

/// Collects, for each occurrence, the number of the `Step` that was sent. The keys of `numbers`
/// have the form `event.sequence`: the number of the event, and the sequence number of the
/// occurrence.
private final class NumberSink: TraceSink {
  let numbers = Guarded<[String: Int]>([:])

  func began(_ occurrence: TracedOccurrence, payload: TracedPayload) {
    let step =
      payload.copy(as: Step.self) ?? payload.copy(key: Int.self, as: Step.self)?.payload
      ?? payload.copy(as: ValueChange<Step>.self)?.new
    numbers.withLock { $0["\(occurrence.event.number).\(occurrence.sequence)"] = step?.number }
  }
  func ended(event: EventIdentity, sequence: UInt64) {}
  func began(_ call: TracedCall, of handler: TracedHandler) {}
  func ended(_ call: TracedCall, of handler: TracedHandler, _ end: TracedEnd) {}
  func withdrew(_ call: TracedCall, of handler: TracedHandler) {}
  func noCall(_ reason: TracedNoCall, handler: TracedHandler, event: EventIdentity, sequence: UInt64) {}
}
