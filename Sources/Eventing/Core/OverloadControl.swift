import Dispatch
import Synchronization

/// Slows down the threads that post to an overloaded event. No thread waits for another one (G15).
///
/// A post that finds more than ``limit`` occurrences waiting is enqueued like any other. Then its
/// thread sleeps for a fixed time. A drain on an event's own queue never sleeps: otherwise events
/// that post to each other in a ring would almost stand still. If the handlers of such a drain post
/// to an overloaded event, the drain sets the ``OverloadFlag`` of its own event. Then the threads
/// that post to the drain's own event sleep, too.
@usableFromInline package enum OverloadControl {
  /// The number of waiting occurrences above which an event is overloaded.
  @inlinable package static var limit: Int { 1_024 }
  /// The number of waiting changes, such as additions or removals, above which a thread sleeps
  /// after each change that it enqueues.
  ///
  /// Lower than ``limit``, because waiting changes delay the sends behind them, not the threads
  /// that make the changes. In a run with two threads that send and two that change handlers, a
  /// limit of 8,192 allowed a third of the sends that a limit of 256 allowed, and made the changes
  /// no faster.
  @inlinable static var changeLimit: Int { 256 }
  /// The number of changes of other threads that a poster applies before it hands the rest off.
  /// Without a limit, the poster's call might never return.
  @inlinable static var foreignChanges: Int { 256 }

  /// The key under which an event's own queue has the event's ``OverloadFlag``.
  static let drained = DispatchSpecificKey<OverloadFlag>()

  /// Lets the calling thread sleep. If an event's own queue runs on this thread, sets the
  /// ``OverloadFlag`` of that event instead: then the threads that post to that event sleep.
  @inline(never) static func slowDown() {
    if let overload = DispatchQueue.getSpecific(key: drained) {
      overload.isOn.store(true, ordering: .relaxed)
    } else {
      Thread.nap(microseconds: 10)
    }
  }
}

/// A flag of one event. While the flag is set, the threads that post to the event sleep.
///
/// The flag is set when the event's own queue calls a handler that posts to an overloaded event, or
/// that makes a change in an event where too many changes wait. The queue clears the flag whenever
/// it takes new work out of the mailbox.
@usableFromInline final class OverloadFlag: Sendable {
  let isOn = Atomic<Bool>(false)
  init() {}
}
