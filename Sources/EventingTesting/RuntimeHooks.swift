import Eventing

// Calls into Swift's runtime. With them a simulation takes over the jobs of tasks that prefer no
// executor, and the jobs of the main actor. The runtime exports these hooks for tools.
//
// Assumptions about Swift 6.2 and later on Linux: The runtime asks
// `swift_task_getMainExecutor_hook` for the main actor's executor before each hop. It hands jobs
// without a preference to `swift_task_enqueueGlobal_hook`. `SimulatedTaskTests` tests both. If a
// symbol is missing, as in a program that links the runtime statically, no hook is installed. Then
// the main actor's tasks, and each `Task {}` without a preference, are not part of a simulation.

#if os(Linux) && !EVENTING_DOCUMENTED_ONLY
  #if canImport(Musl)
    import Musl
  #else
    import Glibc
  #endif

  enum RuntimeHooks {
    private typealias Enqueue = @convention(thin) (UnownedJob) -> Void
    private typealias EnqueueHook = @convention(thin) (UnownedJob, Enqueue) -> Void
    private typealias GetExecutor = @convention(thin) () -> UnownedSerialExecutor
    private typealias GetExecutorHook = @convention(thin) (GetExecutor) -> UnownedSerialExecutor

    /// Simulations take over the main actor, and tasks that prefer no executor.
    static let areInstalled = installHooks()

    /// Once for the process. Outside of simulations the hooks change nothing.
    static func install() { _ = areInstalled }

    private static func installHooks() -> Bool {
      guard let enqueue = unsafe dlsym(nil, "swift_task_enqueueGlobal_hook"),
        let executor = unsafe dlsym(nil, "swift_task_getMainExecutor_hook")
      else { return false }
      // Safe: the runtime declares the variables with these types. A thread that still reads nil
      // behaves as without a hook.
      unsafe enqueue.assumingMemoryBound(to: EnqueueHook?.self).pointee = { job, original in
        if (Scheduling.threadSimulation as? Simulator)?.borrow(job) != true { original(job) }
      }
      unsafe executor.assumingMemoryBound(to: GetExecutorHook?.self).pointee = { original in
        Scheduling.threadSimulation == nil ? unsafe original() : unsafe RuntimeHooks.mainExecutor
      }
      return true
    }

    static var mainExecutor: UnownedSerialExecutor { unsafe SimulatedMainActor.shared.asUnownedSerialExecutor() }

    static let whatLiesOutside =
      areInstalled
      ? "another queue, Task.sleep, or a clock other than Simulation.clock"
      : "a Task {} without EventContext.executor, a main-actor call, another queue, or a clock other than Simulation.clock"
  }

  /// On the threads of simulations. One for all, because a task that outlives a failed simulation
  /// may still refer to it.
  final class SimulatedMainActor: SerialExecutor {
    static let shared = SimulatedMainActor()

    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      if let simulator = Scheduling.threadSimulation as? Simulator {
        simulator.enqueueMain(job)
      } else {
        MainActor.shared.enqueue(job)  // a task that outlived its simulation, or was resumed from outside
      }
    }

    /// A step may be a block, for which the runtime knows no isolation, so it asks this method.
    func isIsolatingCurrentContext() -> Bool? { Scheduling.threadSimulation?.isInMainBlock == true }

    func checkIsolated() {
      precondition(Scheduling.threadSimulation?.isInMainBlock == true, "expected a step of the main actor")
    }
  }
#else
  enum RuntimeHooks {
    static let areInstalled = false
    static func install() {}
    static var mainExecutor: UnownedSerialExecutor { unsafe MainActor.sharedUnownedExecutor }
    static let whatLiesOutside =
      "a Task {} without EventContext.executor, a main-actor call, another queue, or a clock other than Simulation.clock"
  }
#endif
