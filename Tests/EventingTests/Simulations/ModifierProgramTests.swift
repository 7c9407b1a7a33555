import Eventing
import EventingTesting
import Testing

/// Tests small programs with a handler that is retried or has a pace, in up to 1,000 orders each,
/// or 2,000 in a release build, which is faster.
///
/// The simulation's clock moves only when nothing else can run. A step `sleep` of a program takes
/// as long as a delay of the modifier, so either the step or the delay may end first.
@Suite(.serialized, .fewAtATime) struct ModifierProgramTests {
  enum Modifier: CaseIterable, Sendable {
    case retried, debounced, throttled
  }

  enum Step: Sendable {
    case post, send, lock, hold, unlock, remove, finish, quiesce
    /// Sleeps for a millisecond, which is as long as each delay.
    case sleep
  }

  struct Program: Sendable, CustomTestStringConvertible {
    let tasks: [[Step]]
    var testDescription: String { tasks.map { $0.map { "\($0)" }.joined(separator: " ") }.joined(separator: " | ") }
    func has(_ step: (Step) -> Bool) -> Bool { tasks.contains { $0.contains(where: step) } }
  }

  static let programs: [Program] = [
    [[.send]], [[.post, .send, .post]], [[.send, .post], [.send]], [[.post, .sleep, .send], [.post]],
    [[.send, .post], [.hold, .unlock]], [[.post, .post], [.hold, .sleep, .unlock]],
    [[.send, .post], [.lock, .unlock]],
    [[.send, .post], [.remove]], [[.send, .post], [.finish]], [[.post, .post], [.quiesce, .post]],
    [[.post, .sleep, .post], [.sleep, .finish]], [[.post, .sleep, .post], [.sleep, .remove]],
  ].map(Program.init)

  struct Violation: Error, CustomStringConvertible {
    let description: String
  }

  #if DEBUG
    private static let mostOrders = 1_000
  #else
    private static let mostOrders = 2_000
  #endif

  @Test(arguments: programs, Modifier.allCases)
  func noOrderBreaksAGuarantee(program: Program, modifier: Modifier) async throws {
    let explored = try await onThread {
      Result {
        try Simulation.explore(atMost: ModifierProgramTests.mostOrders) {
          try await ModifierWorld(modifier).run(program)
        }
      }
    }.get()
    #expect(explored.runs > 1 || program.tasks.count == 1, "\(explored.runs) orders")
  }

  #if DEBUG
    /// Checks that the programs find faults that are planted in the library.
    @Test(arguments: [
      (Mutant.retryLosesItsPlace, Modifier.retried), (.paceForgetsTheLast, .debounced),
      (.paceForgetsTheLast, .throttled), (.barrierOvertakes, .retried),
    ])
    func aPlantedFaultIsFound(mutant: Mutant, modifier: Modifier) async {
      let found = await onThread {
        ModifierProgramTests.programs.filter { program in
          (1...50 as ClosedRange<UInt64>).contains { seed in
            do {
              try Simulation.run(seed: seed, mutant: mutant) { try await ModifierWorld(modifier).run(program) }
              return false
            } catch { return true }
          }
        }
      }
      #expect(found.count > 0)
    }
  #endif
}

/// An event with one handler, and what became of each occurrence.
// Safe: a simulation runs on one thread.
private final class ModifierWorld: @unchecked Sendable {
  private typealias Violation = ModifierProgramTests.Violation
  struct Refused: Error {}

  private let modifier: ModifierProgramTests.Modifier
  private let event = Event<Int>("small")
  private var token: HandlerToken?
  /// The number of occurrences. Their payloads are 1, 2, and so on.
  private var sent = 0
  /// The payloads of all attempts.
  private var attempts: [Int] = []
  private var reports: [Int: SendReport] = [:]
  /// The largest payload that was sent before a `quiesce` that has returned. A `quiesce` that
  /// begins while a lock holds occurrences does not count, because it does not wait for these.
  private var settled = 0
  private var isHeld = false
  private var isFinished = false
  /// The last payload that was sent before `finish()`.
  private var lastAccepted = 0
  private var violation: String?

  init(_ modifier: ModifierProgramTests.Modifier) {
    self.modifier = modifier
    let (clock, delay) = (Simulation.clock, Duration.milliseconds(1))
    let handler = Handler<Int> { [self] payload async throws in try await called(payload) }
    let modified =
      switch modifier {
      case .retried:
        handler.with(.retrying(.exponential(from: delay, to: delay, attempts: 2, jitter: false), clock: clock))
      case .debounced: handler.with(.debounced(for: delay, clock: clock))
      case .throttled: handler.with(.throttled(every: delay, clock: clock))
      }
    token = event.add(modified)
  }

  private func fail(_ text: String) { violation = violation ?? text }

  /// Checks and records an attempt. If the handler is retried, the first attempt for payload 1
  /// fails.
  private func called(_ payload: Int) async throws {
    let isFirst = !attempts.contains(payload)
    if !isFirst, modifier != .retried || attempts.last != payload { fail("\(payload) after \(attempts)") }
    if isFirst, let last = attempts.last, last > payload { fail("\(payload) comes too late, after \(attempts)") }
    if payload <= settled { fail("\(payload) came after quiesce had returned") }
    attempts.append(payload)
    await Task.yield()
    if modifier == .retried, payload == 1, isFirst { throw Refused() }
  }

  func run(_ program: ModifierProgramTests.Program) async throws {
    await withTaskGroup(of: Void.self) { group in
      for steps in program.tasks {
        group.addTask { [self] in for step in steps { await perform(step) } }
      }
    }
    try? await Simulation.clock.sleep(for: .milliseconds(10))
    await event.quiesce()
    try await judge(program)
  }

  private func next() -> Int {
    sent += 1
    if !isFinished { lastAccepted = sent }
    return sent
  }

  private func perform(_ step: ModifierProgramTests.Step) async {
    guard let token else { return }
    switch step {
    case .post:
      event.post(next())
      await Task.yield()
    case .send:
      let payload = next()
      reports[payload] = await event.send(payload)
    case .lock: event.lock(token)
    case .hold:
      event.lock(token, holding: .oldest(9))
      isHeld = true
    case .unlock:
      await Task.yield()
      isHeld = false
      event.unlock(token)
    case .remove: event.remove(token)
    case .finish:
      event.finish()
      isFinished = true
    case .quiesce:
      let (before, wasHeld) = (sent, isHeld)
      await event.quiesce()
      if !wasHeld { settled = max(settled, before) }
    case .sleep: try? await Simulation.clock.sleep(for: .milliseconds(1))
    }
  }

  private func judge(_ program: ModifierProgramTests.Program) async throws {
    if let violation { throw Violation(description: violation) }
    let text = "attempts \(attempts) of \(sent), \(reports)"
    func check(_ isTrue: Bool, _ what: String) throws {
      if !isTrue { throw Violation(description: "\(what): \(text)") }
    }
    let isCut = program.has { $0 == .lock || $0 == .remove }
    let calls = Set(attempts)
    for (payload, report) in reports {
      let outcomes = [
        report.delivered, report.skipped, report.dropped, report.deferred, report.held, report.failures.count,
      ]
      let isAccepted = payload <= lastAccepted && !program.has { $0 == .remove }
      try check(outcomes.reduce(0, +) <= 1, "\(payload) has several outcomes")
      if isAccepted { try check(outcomes.reduce(0, +) == 1, "\(payload) has no outcome") }
      if report.delivered == 1 { try check(calls.contains(payload), "\(payload) was not delivered") }
      if report.dropped == 1 { try check(!calls.contains(payload), "\(payload) was not dropped") }
    }
    try check(Simulation.clock.sleeperCount == 0, "a timer is left")
    if let handler = await event.handlers().first {
      let sum = handler.callCount + handler.droppedCount + handler.skippedCount
      try check(sum == sent, "\(sum) occurrences are counted")
      try check(handler.callCount == calls.count, "\(handler.callCount) calls are counted")
    }
    guard !isCut else { return }
    switch modifier {
    case .retried:
      try check(calls == Set(1..<(lastAccepted + 1)), "an occurrence is lost")
      try check(attempts.count(where: { $0 == 1 }) == (lastAccepted > 0 ? 2 : 0), "1 was not tried again")
    case .debounced, .throttled:
      try check(lastAccepted == 0 || calls.contains(lastAccepted), "the last one is lost")
      if modifier == .throttled { try check(lastAccepted == 0 || calls.contains(1), "the first one is lost") }
    }
  }
}
