import Dispatch
import Synchronization

/// Slows down threads that post to an overloaded event, without waiting for another thread (G15).
/// They sleep for a fixed time. A drain on an event's own queue doesn't, or events that post to
/// each other in a ring would almost stand still; instead posters to its event sleep.
@usableFromInline package enum OverloadControl {
  @inlinable package static var limit: Int { 1_024 }
  /// Lower than ``limit``, because waiting changes delay the sends behind them, not the threads
  /// that make them. With two sending and two changing threads, 8,192 allowed a third of the sends
  /// that 256 allowed, and made the changes no faster.
  @inlinable static var changeLimit: Int { 256 }
  /// Without a limit, a poster that applies other threads' changes might never return.
  @inlinable static var foreignChanges: Int { 256 }

  static let drained = DispatchSpecificKey<OverloadFlag>()

  @inline(never) static func slowDown() {
    if let overload = DispatchQueue.getSpecific(key: drained) {
      overload.isOn.store(true, ordering: .relaxed)
    } else {
      Thread.nap(microseconds: 10)
    }
  }
}

@usableFromInline final class OverloadFlag: Sendable {
  let isOn = Atomic<Bool>(false)
  init() {}
}
