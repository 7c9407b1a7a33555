import Dispatch
import Eventing
import Synchronization
import Testing

/// Opens after `count` arrivals.
final class Countdown: Sendable {
  private let left: Atomic<Int>
  private let gate = Gate()

  init(_ count: Int) { left = Atomic(count) }

  func arrive() {
    if left.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0 { gate.open() }
  }
  @available(*, noasync) func wait(file: String = #fileID, line: Int = #line) { gate.wait(file: file, line: line) }
  func opened() async { await gate.opened() }
}

/// Whether the payload has been released when `quiesce()` returns.
func losesItsPayload(_ event: Event<Recorder<Int>>) async -> Bool {
  weak let payload = { () -> Recorder<Int> in
    let payload = Recorder<Int>()
    event.post(payload)
    return payload
  }()
  await event.quiesce()
  return payload == nil
}

/// Counts the calls between `enter()` and `leave()`.
final class Crowd: Sendable {
  private let state = ConditionLock((now: 0, peak: 0))

  var now: Int { state.withLock { $0.now } }
  var peak: Int { state.withLock { $0.peak } }

  func enter() {
    state.withLock { state in
      state.now += 1
      state.peak = max(state.peak, state.now)
    }
  }
  func leave() { state.withLock { $0.now -= 1 } }
}

final class Counter: Sendable {
  private let number = Atomic<Int>(0)

  var value: Int { number.load(ordering: .acquiring) }

  @discardableResult func add(_ amount: Int = 1) -> Int {
    number.wrappingAdd(amount, ordering: .acquiringAndReleasing).newValue
  }
}

/// After 200 seconds, cancels the task and records an issue. Otherwise the test would hang, and not
/// show which call failed.
@discardableResult func comesBack<Result: Sendable>(
  sourceLocation: SourceLocation = #_sourceLocation, _ work: @escaping @Sendable () async -> Result
) async -> Result? {
  let result = ConditionLock<Result?>(nil)
  let over = Gate()
  let task = Task {
    let value = await work()
    result.withLock { $0 = value }
    over.open()
  }
  let deadline = DispatchWorkItem { over.open() }
  DispatchQueue.global().asyncAfter(deadline: .now() + 200, execute: deadline)
  await over.opened()
  deadline.cancel()
  guard let value = result.withLock({ $0 }) else {
    task.cancel()
    Issue.record("it does not come back", sourceLocation: sourceLocation)
    return nil
  }
  return value
}

/// The task is cancelled before `work` begins.
func cancelledTask<Result: Sendable>(_ work: @escaping @Sendable () async -> Result) -> Task<Result, Never> {
  Task {
    unsafe withUnsafeCurrentTask { task in unsafe task?.cancel() }
    return await work()
  }
}

/// The task is cancelled before `work` begins.
func inCancelledTask<Result: Sendable>(_ work: @escaping @Sendable () async -> Result) async -> Result {
  await cancelledTask(work).value
}

/// Runs jobs only when a test calls a `run` method. Handlers that are added inside ``adding(_:)``
/// run on it.
final class StepExecutor: TaskExecutor {
  private let jobs = ConditionLock<[UnownedJob]>([])

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    jobs.withLock { $0.append(job) }
  }

  @discardableResult func adding<Result>(_ body: () throws -> Result) rethrows -> Result {
    try Scheduling.$executor.withValue(self) { try body() }
  }

  /// Behind the waiting jobs.
  func after(_ body: @escaping @Sendable () -> Void) {
    Task(executorPreference: self) { body() }
  }

  /// On a new thread. Returns whether a job was waiting.
  @discardableResult func run() async -> Bool {
    let ran = Counter()
    await startThread { ran.add(self.runHere()) }.opened()
    return ran.value > 0
  }

  /// Blocks the calling thread meanwhile, and so its actor.
  func runWhileThisIsHeld() {
    let over = startThread { _ = self.runHere() }
    func block(_ wait: () -> Void) { wait() }
    block { over.wait() }
  }

  /// Until `quiesce()` has returned.
  func runUntilQuiet(_ event: Event<Int>) async {
    let isQuiet = Gate()
    let quiescing = Task {
      await event.quiesce()
      isQuiet.open()
    }
    while !isQuiet.isOpen { await run() }
    await quiescing.value
  }

  /// Returns the number of jobs.
  @discardableResult func runHere() -> Int {
    var count = 0
    while let job = jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) {
      unsafe job.runSynchronously(on: asUnownedTaskExecutor())
      count += 1
    }
    return count
  }
}

/// One call at a time, in order.
enum SerialKind: CaseIterable, Sendable {
  case main, mainAsync, background, serialQueue, concurrentQueue, inOrder, backgroundAsync, actor, concurrentOfOne

  static var asynchronous: [SerialKind] { allCases.filter(\.isAsync) }
  static var synchronous: [SerialKind] { allCases.filter { !$0.isAsync } }

  var isAsync: Bool {
    switch self {
    case .main, .background, .serialQueue, .concurrentQueue: false
    case .mainAsync, .inOrder, .backgroundAsync, .actor, .concurrentOfOne: true
    }
  }
  var isMain: Bool { self == .main || self == .mainAsync }
}

actor Stage {
  func hold(_ body: @Sendable () -> Void) { body() }
}

/// `later` runs after `body` if the handler is asynchronous.
@discardableResult func add<Payload: Sendable>(
  _ kind: SerialKind, to event: Event<Payload>, named name: String? = nil, priority: Int = 0, once: Bool = false,
  stage: Stage? = nil,
  _ body: @escaping @Sendable (Payload) throws -> Void,
  later: @escaping @Sendable (Payload) async throws -> Void = { _ in }
) -> HandlerToken {
  let both: @Sendable (Payload) async throws -> Void = { payload in
    try body(payload)
    try await later(payload)
  }
  let options: HandlerOption<Payload> = .options(
    name.map { .named($0) } ?? .options(), .priority(priority), once ? .once : .options())
  switch kind {
  case .main:
    return event.addHandler(options, on: .main) { payload in try body(payload) }
  case .mainAsync:
    return event.addHandler(options, on: .main) { payload in
      try body(payload)
      try await later(payload)
    }
  case .background: return event.addHandler(options, on: .background, perform: body)
  case .serialQueue:
    return event.addHandler(
      options, on: .queue(DispatchQueue(label: "serial")), perform: body)
  case .concurrentQueue:
    let queue = DispatchQueue(label: "concurrent", attributes: .concurrent)
    return event.addHandler(options, on: .queue(queue), perform: body)
  case .inOrder: return event.addHandler(options, on: .inOrder, perform: both)
  case .backgroundAsync:
    return event.addHandler(options, on: .inOrder(priority: .medium), perform: both)
  case .concurrentOfOne:
    return event.addHandler(options, on: .concurrent(limit: 1), perform: both)
  case .actor:
    // A handler of this kind refers to its actor only weakly. So this function adds a second
    // handler, whose closure retains the actor `stage`.
    let stage = stage ?? Stage()
    event.addHandler(.named("holds the stage"), .priority(.min)) { _ in withExtendedLifetime(stage) {} }
    return event.addHandler(options, isolatedTo: stage) { _, payload in
      try body(payload)
      try await later(payload)
    }
  }
}
