import CMeasure
import Foundation

/// Runs `body` on `count` threads that wait for each other and then begin together.
///
/// - Returns: The nanoseconds from the first start to the last end.
func runThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) -> Int {
  let box = Unmanaged.passRetained(ThreadBody(body))
  defer { box.release() }
  return cm_run_threads(
    Int32(count),
    { context, index in Unmanaged<ThreadBody>.fromOpaque(context!).takeUnretainedValue().run(Int(index)) },
    box.toOpaque())
}

/// A closure in an object, whose address can be passed through C.
private final class ThreadBody: Sendable {
  let run: @Sendable (Int) -> Void
  init(_ run: @escaping @Sendable (Int) -> Void) { self.run = run }
}

/// Runs `body`, which may block, on a new thread, so that it blocks no thread of the cooperative
/// pool.
func onOwnThread<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
  await withCheckedContinuation { continuation in
    Thread.detachNewThread { continuation.resume(returning: body()) }
  }
}

/// Waits for `condition`: spins briefly, then sleeps between checks, so that delivering threads
/// run.
///
/// - Returns: Whether the condition held within `seconds`.
@discardableResult
func wait(seconds: Int = 10, until condition: () -> Bool) -> Bool {
  let deadline = cm_now() + seconds * 1_000_000_000
  var spins = 0
  while !condition() {
    if spins < 50 {
      cm_pause()
      spins += 1
      continue
    }
    cm_sleep(20)
    if cm_now() > deadline { return condition() }
  }
  return true
}
