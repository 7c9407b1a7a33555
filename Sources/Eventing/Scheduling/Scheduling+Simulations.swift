#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif
package import Dispatch
import Synchronization

// Simulations, and the threads that run them. A task of a simulation has the task-local value
// `Scheduling.simulation`. A detached task has no task-local values, and is found by its thread.
extension Scheduling {
  /// The number of running simulations. If it is 0, no thread or task belongs to one.
  private static let simulations = Atomic<Int>(0)

  /// The simulation that the caller belongs to.
  package static var currentSimulation: (any SimulatedScheduling)? {
    simulations.load(ordering: .relaxed) == 0 ? nil : simulation ?? threadSimulation
  }

  /// The simulation that the calling thread runs.
  package static var threadSimulation: (any SimulatedScheduling)? {
    guard simulations.load(ordering: .relaxed) != 0, let pointer = unsafe pthread_getspecific(threadKey) else {
      return nil
    }
    // Safe: `run` retains the simulation while the pointer is set.
    return unsafe Unmanaged<AnyObject>.fromOpaque(pointer).takeUnretainedValue() as? any SimulatedScheduling
  }

  /// Runs a closure. Meanwhile the calling thread belongs to a simulation.
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

/// The scheduler of a simulation, in the place of Swift's pool and of Dispatch's queues.
package protocol SimulatedScheduling: TaskExecutor {
  /// The fault that a test has planted in the simulation, if there is one.
  var mutant: Mutant? { get }
  /// Schedules a block. Blocks for one serial queue run in the order in which they were scheduled,
  /// and so do blocks for the main queue. Other blocks run in any order.
  ///
  /// - Parameters:
  ///   - queue: The serial queue; `nil` for a block of the main queue or of the global queue.
  ///   - isMain: Whether the block is for the main queue.
  func schedule(_ body: @escaping @Sendable () -> Void, on queue: DispatchQueue?, isMain: Bool)
  /// Whether the simulation is running a block of the main queue, or a job of the main actor.
  var isInMainBlock: Bool { get }
  /// The delay queues of the simulation.
  var delayQueues: DelayQueueTable { get }
  /// The clock that takes the place of the clocks of the standard library in the simulation.
  var delayClock: any Clock<Duration> { get }
}
