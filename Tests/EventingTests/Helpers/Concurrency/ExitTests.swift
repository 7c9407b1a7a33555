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

// For the bodies of exit tests: there a crash, or a hang, is the failure of one test.

/// Ends the process by a signal if it is still there after two minutes.
func endProcessIfItHangs() { alarm(120) }

/// Runs each body on a thread of its own, again and again, for so long; returns how often each ran.
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

/// Returns how many seconds of the calling thread's processor time `body` takes: other threads do
/// not count.
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

/// Returns how often the calling thread has gone to sleep of its own accord; other threads that
/// take its core do not count. 0 where the system does not tell.
func sleepsOfThisThread() -> Int {
  guard let text = try? String(contentsOfFile: "/proc/thread-self/status", encoding: .utf8) else { return 0 }
  let line = text.split(separator: "\n").first { $0.hasPrefix("voluntary_ctxt_switches") }
  return line?.split(separator: "\t").last.flatMap { Int($0) } ?? 0
}

/// Returns how many times as much one item costs among many as among few, in processor time: about
/// 1 if the whole is linear,
/// `many / few` if it is quadratic. The best of some attempts, because caches are shared with other
/// programs.
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
