import Foundation

/// A thread of the system, which belongs to no pool and may block.
enum RawThread {
  /// A small stack: what nests on it without end shows at once.
  static func start(_ name: String, stackSize: Int = 256 << 10, _ body: @escaping @Sendable () -> Void) {
    let thread = Thread { body() }
    thread.name = name
    thread.stackSize = stackSize
    thread.start()
  }

  /// Lets another thread have the core.
  static func giveWay() { _ = sched_yield() }

  /// Sleeps for as short a time as the system makes of it: some 100 microseconds.
  static func nap() { Thread.sleep(forTimeInterval: 0.00005) }

  /// Passes about so many nanoseconds at work.
  static func spin(_ nanoseconds: UInt64) {
    let end = Clock.now + nanoseconds
    while Clock.now < end {}
  }
}
