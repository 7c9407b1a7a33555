public import Dispatch
import Synchronization

#if canImport(Darwin)
  public import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  public import Musl
#elseif canImport(Android)
  internal import Android
#endif

protocol TaskWork: Sendable {
  func run() async
}

/// The only place in the package that starts tasks and schedules blocks.
@usableFromInline package enum Scheduling {
  @TaskLocal package static var executor: (any TaskExecutor)?

  @TaskLocal package static var simulation: (any SimulatedScheduling)?

  static var isSimulated: Bool { currentSimulation != nil }

  #if DEBUG
    @usableFromInline static func isPlanted(_ mutant: Mutant) -> Bool {
      unsafe Mutant.everywhere == mutant || currentSimulation.map { $0.mutant == mutant } ?? false
    }
  #endif

  @usableFromInline package static func task(
    priority: UInt8?, on executor: (any TaskExecutor)?, _ body: @escaping @Sendable () async -> Void
  ) {
    if executor != nil || isSimulated { return placedTask(priority: priority, on: executor, body) }
    Task.detached(priority: priority.map(Self.priority)) { await body() }
  }

  /// Saves allocating a closure.
  @inline(__always) static func task(
    priority: UInt8?, on executor: (any TaskExecutor)?, for work: some TaskWork
  ) {
    if executor != nil || isSimulated { return placedTask(priority: priority, on: executor) { await work.run() } }
    Task.detached(priority: priority.map(Self.priority)) { await work.run() }
  }

  @inline(never) private static func placedTask(
    priority: UInt8?, on executor: (any TaskExecutor)?, _ body: @escaping @Sendable () async -> Void
  ) {
    _ = detached(priority.map(Self.priority), in: currentSimulation, orOn: executor, body)
  }

  private static func detached(
    _ priority: TaskPriority?, in simulation: (any SimulatedScheduling)?, orOn executor: (any TaskExecutor)?,
    _ body: @escaping @Sendable () async -> Void
  ) -> Task<Void, Never> {
    guard let simulation else {
      return Task.detached(executorPreference: executor, priority: priority) { await body() }
    }
    return Task.detached(executorPreference: simulation, priority: priority) {
      await $simulation.withValue(simulation) { await body() }
    }
  }

  /// Releasing the returned object cancels the task.
  package static func cancelledWhenDropped(_ body: @escaping @Sendable () async -> Void) -> any AnyObject & Sendable {
    RunningTask(Task(executorPreference: currentSimulation) { await body() })
  }

  /// Releasing the returned object cancels the task.
  package static func detachedTask(
    in simulation: (any SimulatedScheduling)?, _ body: @escaping @Sendable () async -> Void
  ) -> any AnyObject & Sendable {
    RunningTask(detached(nil, in: simulation, orOn: nil, body))
  }

  static func innerTask<Value: Sendable>(
    on executor: (any TaskExecutor)?, _ body: @escaping @Sendable () async -> Value
  ) -> Task<Value, Never> {
    Task(executorPreference: currentSimulation ?? executor) { await body() }
  }

  @TaskLocal package static var isTimer = false

  private final class RunningTask: Sendable {
    private let task: Task<Void, Never>
    init(_ task: Task<Void, Never>) { self.task = task }
    deinit { task.cancel() }
  }

  static func priority(_ rawPriority: UInt8) -> TaskPriority { TaskPriority(rawValue: min(rawPriority, 0x21)) }

  @usableFromInline @inline(never) package static func block(
    on queue: DispatchQueue, _ body: @escaping @Sendable () -> Void
  ) {
    if let simulation = currentSimulation { return simulation.schedule(body, on: queue, isMain: false) }
    queue.async(execute: body)
  }

  @usableFromInline @inline(never) package static func concurrentBlock(_ body: @escaping @Sendable () -> Void) {
    if let simulation = currentSimulation { return simulation.schedule(body, on: nil, isMain: false) }
    DispatchQueue.global().async(execute: body)
  }

  /// For a thread that may be running user code, such as the thread of a `post`.
  ///
  /// Resuming a task takes a lock of the task. While the task is being cancelled, the runtime holds
  /// that lock and calls cancellation handlers, which may wait for one of the program's locks that
  /// this thread holds. Each task is therefore resumed in a block of its own. The blocks have the
  /// highest quality of service because Dispatch on Linux has separate threads for each quality, so
  /// the program's blocks of other qualities can't delay a resume.
  static func resume(_ tasks: [UnsafeContinuation<Void, Never>]) {
    unsafe tasks.forEach { unsafe resume($0) }
  }

  @inline(never) static func resume(_ task: UnsafeContinuation<Void, Never>) {
    if let simulation = currentSimulation {
      return simulation.schedule({ unsafe task.resume() }, on: nil, isMain: false)
    }
    DispatchQueue.global(qos: .userInteractive).async { unsafe task.resume() }
  }

  /// For a thread that runs no user code.
  static func resumeHere(_ tasks: [UnsafeContinuation<Void, Never>]) {
    unsafe tasks.forEach { unsafe $0.resume() }
  }

  @inline(never) static func mainBlock(_ body: @escaping @Sendable () -> Void) {
    if let simulation = currentSimulation { return simulation.schedule(body, on: nil, isMain: true) }
    DispatchQueue.main.async(execute: body)
  }

  static func backgroundQueue(_ rawPriority: UInt8) -> DispatchQueue {
    let priority = TaskPriority(rawValue: rawPriority)
    let quality: DispatchQoS =
      switch priority {
      case _ where priority > .high: .userInteractive
      case _ where priority > .medium: .userInitiated
      case _ where priority > .low: .default
      case .background: .background
      default: .utility
      }
    return DispatchQueue(label: "eventing.background", qos: quality)
  }

  // MARK: The main queue

  private static let mainKey: DispatchSpecificKey<Bool> = {
    let key = DispatchSpecificKey<Bool>()
    DispatchQueue.main.setSpecific(key: key, value: true)
    return key
  }()

  /// Doesn't compare threads, because on Linux the main actor leaves the main thread at its first
  /// suspension.
  @usableFromInline package static var isOnMainQueue: Bool {
    currentSimulation.map(\.isInMainBlock) ?? (DispatchQueue.getSpecific(key: mainKey) == true)
  }

  /// Doesn't compare objects, because on Linux `DispatchQueue.main` is a different object each
  /// time.
  static func isMainQueue(_ queue: DispatchQueue) -> Bool { queue.getSpecific(key: mainKey) == true }

  static func checkMain() {
    if currentSimulation?.isInMainBlock != true { MainActor.preconditionIsolated() }
  }
}

// Simulations and the threads that run them. A simulation's tasks have the task-local value
// `Scheduling.simulation`. A detached task has no task-local values and is identified by its
// thread.
extension Scheduling {
  private static let simulations = Atomic<Int>(0)

  package static var currentSimulation: (any SimulatedScheduling)? {
    simulations.load(ordering: .relaxed) == 0 ? nil : simulation ?? threadSimulation
  }

  package static var threadSimulation: (any SimulatedScheduling)? {
    guard simulations.load(ordering: .relaxed) != 0, let pointer = unsafe pthread_getspecific(threadKey) else {
      return nil
    }
    // Safe: `run` retains the simulation while the pointer is set.
    return unsafe Unmanaged<AnyObject>.fromOpaque(pointer).takeUnretainedValue() as? any SimulatedScheduling
  }

  package static func run<Result>(_ simulation: any SimulatedScheduling, _ body: () throws -> Result) rethrows -> Result
  {
    let outer = unsafe pthread_getspecific(threadKey)
    unsafe pthread_setspecific(threadKey, Unmanaged<AnyObject>.passUnretained(simulation).toOpaque())
    simulations.wrappingAdd(1, ordering: .relaxed)
    defer {
      simulations.wrappingSubtract(1, ordering: .relaxed)
      unsafe pthread_setspecific(threadKey, outer)
    }
    return try withExtendedLifetime(simulation) { try $simulation.withValue(simulation, operation: body) }
  }

  private static let threadKey: pthread_key_t = {
    var key = pthread_key_t()
    let error = unsafe pthread_key_create(&key, nil)
    precondition(error == 0, "expected a key for a value of each thread; pthread_key_create returned \(error)")
    return key
  }()
}

package protocol SimulatedScheduling: TaskExecutor {
  var mutant: Mutant? { get }
  /// Blocks for the same serial queue, and those for the main queue, run in order; others run in
  /// any order.
  func schedule(_ body: @escaping @Sendable () -> Void, on queue: DispatchQueue?, isMain: Bool)
  var isInMainBlock: Bool { get }
  var delayQueues: TimerQueueTable { get }
  var delayClock: any Clock<Duration> { get }
}

#if canImport(Glibc)
  /// C11's `thrd_current`, which returns the same value as `pthread_self` and has been in Glibc
  /// since 2.28.
  ///
  /// Safe: a function without parameters that returns a word is called the same way in Swift's and
  /// in C's calling convention.
  @_silgen_name("thrd_current") @usableFromInline func currentThread() -> UInt
#elseif canImport(Android)
  /// Safe: as for Glibc.
  @_silgen_name("gettid") @usableFromInline func currentThread() -> Int32
#endif

@usableFromInline package enum Thread {
  /// Unique among living threads; the three lowest bits are 0. Glibc's `pthread_self` and Bionic's
  /// `gettid` are `__attribute__((const))`, so the optimizer would reuse a number read before an
  /// `await`.
  @inlinable @inline(__always) package static var current: UInt {
    #if canImport(Glibc)
      currentThread()
    #elseif canImport(Android)
      UInt(truncatingIfNeeded: currentThread()) << 3
    #else
      unsafe UInt(bitPattern: pthread_self())
    #endif
  }

  static var spinLimit: Int { 1_000 }

  /// Touches no memory that other threads write. Not optimized, because the optimizer would remove
  /// the loop.
  @inline(never) @_optimize(none) static func spin(_ rounds: Int) {
    var left = rounds
    while left > 0 { left &-= 1 }
  }

  static func giveWay() { sched_yield() }

  /// Doesn't wait for another thread. On Linux, a nap of 10 microseconds takes about 65.
  static func nap(microseconds: UInt32) { _ = usleep(microseconds) }
}
