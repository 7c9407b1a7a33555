import Synchronization

// Workers that start at the same moment.

extension ScenarioContext {
  /// Starts all workers at once, and returns when each of them has done all its steps.
  ///
  /// - Parameters:
  ///   - steps: The number of steps of each worker.
  ///   - step: A step of a worker on a thread; also of a worker in a task, if `inTask` is nil.
  ///   - inTask: A step of a worker in a task. It may await.
  func race(
    steps: Int, _ step: @escaping @Sendable (Worker) -> Void, inTask: (@Sendable (Worker) async -> Void)? = nil
  ) async {
    let start = StartLine(workers.count)
    let threads = workers.filter { !$0.isTask }
    let done = Latch(threads.count)
    for worker in threads {
      RawThread.start(worker.activityLog.name) {
        start.wait()
        for _ in 0..<steps {
          step(worker)
          worker.rest()
        }
        done.arrive()
      }
    }
    await withDiscardingTaskGroup { group in
      for worker in workers where worker.isTask {
        group.addTask {
          await start.waitInTask()
          for number in 0..<steps {
            if let inTask { await inTask(worker) } else { step(worker) }
            if number % 16 == 15 { await worker.giveWayInTask() } else { await worker.restInTask() }
          }
        }
      }
    }
    await done.wait()
  }
}

/// A starting line. No worker passes it before all workers have arrived.
final class StartLine: Sendable {
  private let missing: Atomic<Int>

  init(_ number: Int) { missing = Atomic(number) }

  func wait() {
    missing.wrappingSubtract(1, ordering: .acquiringAndReleasing)
    while missing.load(ordering: .acquiring) > 0 { RawThread.giveWay() }
  }

  func waitInTask() async {
    missing.wrappingSubtract(1, ordering: .acquiringAndReleasing)
    while missing.load(ordering: .acquiring) > 0 { await Task.yield() }
  }
}
