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
  /// Blocks for one serial queue run in order, and so do those for the main queue; others in any
  /// order.
  func schedule(_ body: @escaping @Sendable () -> Void, on queue: DispatchQueue?, isMain: Bool)
  var isInMainBlock: Bool { get }
  var delayQueues: DelayQueueTable { get }
  var delayClock: any Clock<Duration> { get }
}
