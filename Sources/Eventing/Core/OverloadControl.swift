import Dispatch
import Synchronization

/// Slows down threads that post to an overloaded event by letting them sleep for a fixed time,
/// never by making them wait for another thread (G15). A drain on an event's own queue doesn't
/// sleep, because events that post to each other in a ring would almost come to a halt. Instead,
/// the threads that post to its event sleep.
@usableFromInline package enum OverloadControl {
  @inlinable package static var limit: Int { 1_024 }
  /// Lower than ``limit``, because waiting changes delay the sends behind them rather than the
  /// threads that make them. With two sending and two changing threads, a limit of 8,192 allowed
  /// only a third as many sends as 256 and made the changes no faster.
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
