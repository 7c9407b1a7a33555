#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif
import Foundation
import Synchronization

// Helpers for exit tests. The body of an exit test has a process of its own, so a crash or a hang
// fails only one test.

/// Ends the process by `SIGALRM` after two minutes, if it still runs then.
func endProcessIfItHangs() { alarm(120) }

/// Runs each body repeatedly on a thread of its own, until the duration is over.
///
/// - Returns: The number of rounds of each body.
@discardableResult func race(for duration: Duration = .milliseconds(600), _ bodies: [@Sendable (_ round: Int) -> Void])
  async -> [Int]
{
  let rounds = ConditionLock(bodies.map { _ in 0 })
  let deadline = ContinuousClock.now.advanced(by: duration)
  await onThreads(bodies.count) { index in
    var round = 0
    while round % 16 != 0 || ContinuousClock.now < deadline {
      bodies[index](round)
      round += 1
    }
    let count = round
    rounds.withLock { $0[index] = count }
  }
  return rounds.withLock { $0 }
}

/// Returns the processor time that `body` takes on the calling thread, in seconds.
///
/// The time of other threads does not count.
func processorTime(of body: () -> Void) -> Double {
  func now() -> Double {
    var time = timespec()
    unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
  }
  let start = now()
  body()
  return now() - start
}

/// Returns the number of times that the calling thread has gone to sleep voluntarily.
///
/// Preemption by other threads does not count. Returns 0 where the system does not report it.
func sleepsOfThisThread() -> Int {
  guard let text = try? String(contentsOfFile: "/proc/thread-self/status", encoding: .utf8) else { return 0 }
  let line = text.split(separator: "\n").first { $0.hasPrefix("voluntary_ctxt_switches") }
  return line?.split(separator: "\t").last.flatMap { Int($0) } ?? 0
}

/// Returns the cost of one item among `many`, divided by the cost of one item among `few`.
///
/// The result is about 1 if the work is linear, and `many / few` if it is quadratic. Other programs
/// share the caches, so the best of up to four attempts counts.
///
/// - Parameters:
///   - isEnough: The highest result after which no further attempt is made.
///   - work: A closure that returns the processor time of `count` items, in seconds.
func growth(from few: Int, to many: Int, isEnough: Double, _ work: @escaping @Sendable (_ count: Int) -> Double) async
  -> Double
{
  await onThread {
    var best = Double.infinity
    for _ in 0..<4 where best > isEnough {
      let base = (0..<3).map { _ in work(few) }.max()!
      best = min(best, work(many) / Double(many) / (base / Double(few)))
    }
    return best
  }
}
