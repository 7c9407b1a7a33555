import Foundation

/// Threads of the system, which belong to no pool and may block.
enum RawThread {
  /// Starts a thread. The default stack is small, so that unbounded recursion overflows it soon.
  static func start(_ name: String, stackSize: Int = 256 << 10, _ body: @escaping @Sendable () -> Void) {
    let thread = Thread { body() }
    thread.name = name
    thread.stackSize = stackSize
    thread.start()
  }

  /// Yields the processor to another thread.
  static func giveWay() { _ = sched_yield() }

  /// Sleeps for 50 µs, or longer if the timers of the system are coarser.
  static func nap() { Thread.sleep(forTimeInterval: 0.00005) }

  /// Spins for about this many nanoseconds.
  static func spin(_ nanoseconds: UInt64) {
    let end = Clock.now + nanoseconds
    while Clock.now < end {}
  }
}
