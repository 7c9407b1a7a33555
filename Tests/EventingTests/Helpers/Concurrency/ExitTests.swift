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

/// By `SIGALRM`, after two minutes.
func endProcessIfItHangs() { alarm(120) }

/// Each body runs on a thread of its own. Returns the number of rounds of each.
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

/// In seconds, without the time of other threads.
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

/// Without preemption. 0 where the system does not report it.
func sleepsOfThisThread() -> Int {
  guard let text = try? String(contentsOfFile: "/proc/thread-self/status", encoding: .utf8) else { return 0 }
  let line = text.split(separator: "\n").first { $0.hasPrefix("voluntary_ctxt_switches") }
  return line?.split(separator: "\t").last.flatMap { Int($0) } ?? 0
}

/// The cost of one item among `many`, divided by that of one among `few`: about 1 if the work is
/// linear. Other programs share the caches, so the best of up to four attempts counts.
///
/// - Parameters:
///   - isEnough: A result for which no further attempt is made.
///   - work: Returns the processor time of `count` items, in seconds.
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
