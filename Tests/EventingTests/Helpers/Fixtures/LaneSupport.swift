import Dispatch
import Eventing
import Synchronization
import Testing

/// Open when so many have arrived.
final class Countdown: Sendable {
  private let left: Atomic<Int>
  private let gate = Gate()

  init(_ count: Int) { left = Atomic(count) }

  func arrive() {
    if left.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0 { gate.open() }
  }
  @available(*, noasync) func wait() { gate.wait() }
  func opened() async { await gate.opened() }
}

/// How many are inside, and the most that ever were at the same time.
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

/// A number that threads add to.
final class Counter: Sendable {
  private let number = Atomic<Int>(0)

  var value: Int { number.load(ordering: .acquiring) }

  @discardableResult func add(_ amount: Int = 1) -> Int {
    number.wrappingAdd(amount, ordering: .acquiringAndReleasing).newValue
  }
}

/// What `work` returns; nil, and an issue, if it does not come back within 200 seconds, because a test that hangs says nothing.
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

/// A task that is cancelled before it begins.
func cancelledTask<Result: Sendable>(_ work: @escaping @Sendable () async -> Result) -> Task<Result, Never> {
  Task {
    unsafe withUnsafeCurrentTask { task in unsafe task?.cancel() }
    return await work()
  }
}

/// What `work` returns in a task that is cancelled before it begins.
func inCancelledTask<Result: Sendable>(_ work: @escaping @Sendable () async -> Result) async -> Result {
  await cancelledTask(work).value
}

/// Runs the tasks of handlers that are added while it is bound, when the test says so, on the thread that says so.
final class StepExecutor: TaskExecutor {
  private let jobs = ConditionLock<[UnownedJob]>([])

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    jobs.withLock { $0.append(job) }
  }

  /// Adds handlers whose tasks run here.
  @discardableResult func adding<Result>(_ body: () throws -> Result) rethrows -> Result {
    try Scheduling.$executor.withValue(self) { try body() }
  }

  /// Puts a job of the test's own behind those that wait.
  func after(_ body: @escaping @Sendable () -> Void) {
    Task(executorPreference: self) { body() }
  }

  /// Runs all that can run, on a thread of its own; false if there was nothing.
  @discardableResult func run() async -> Bool {
    let ran = Counter()
    await startThread { ran.add(self.runHere()) }.opened()
    return ran.value > 0
  }

  /// The same while the caller goes on holding its actor.
  func runWhileThisIsHeld() {
    let over = startThread { _ = self.runHere() }
    func block(_ wait: () -> Void) { wait() }
    block { over.wait() }
  }

  /// Runs what there is until the event is quiet.
  func runUntilQuiet(_ event: Event<Int>) async {
    let isQuiet = Gate()
    let quiescing = Task {
      await event.quiesce()
      isQuiet.open()
    }
    while !isQuiet.isOpen { await run() }
    await quiescing.value
  }

  /// Runs all that can run, on the calling thread; returns how much that was.
  @discardableResult func runHere() -> Int {
    var count = 0
    while let job = jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) {
      unsafe job.runSynchronously(on: asUnownedTaskExecutor())
      count += 1
    }
    return count
  }
}

/// The kinds of handlers that run one call at a time, in order, elsewhere.
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

/// An actor for handlers to run on.
actor Stage {
  /// Does something on the actor.
  func hold(_ body: @Sendable () -> Void) { body() }
}

/// Adds a handler of a kind: its calls run `body`, and then `later` if they can wait.
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
  switch kind {
  case .main:
    return event.addHandler(named: name, on: .main, priority: priority, once: once) { payload in try body(payload) }
  case .mainAsync:
    return event.addHandler(named: name, on: .main, priority: priority, once: once) { payload in
      try body(payload)
      try await later(payload)
    }
  case .background: return event.addHandler(named: name, on: .background, priority: priority, once: once, body)
  case .serialQueue:
    return event.addHandler(
      named: name, on: .queue(DispatchQueue(label: "serial")), priority: priority, once: once, body)
  case .concurrentQueue:
    let queue = DispatchQueue(label: "concurrent", attributes: .concurrent)
    return event.addHandler(named: name, on: .queue(queue), priority: priority, once: once, body)
  case .inOrder: return event.addHandler(named: name, on: .inOrder, priority: priority, once: once, both)
  case .backgroundAsync:
    return event.addHandler(named: name, on: .background(.medium), priority: priority, once: once, both)
  case .concurrentOfOne:
    return event.addHandler(named: name, on: .concurrent(limit: 1), priority: priority, once: once, both)
  case .actor:
    // The handler does not keep its actor alive, so something else of the event does.
    let stage = stage ?? Stage()
    event.addHandler(named: "holds the stage", priority: .min) { _ in withExtendedLifetime(stage) {} }
    return event.addHandler(named: name, priority: priority, once: once, isolatedTo: stage) { _, payload in
      try body(payload)
      try await later(payload)
    }
  }
}
