/// A place between two steps where another thread may come in between.
///
/// In a debug build, and where `EVENTING_EDGES` is defined, a test can hold a thread there, or make every thread stumble there at random;
/// in a release build nothing of it is left. Each case is one of the interleavings that the tests force.
@usableFromInline package enum SyncPoint: Sendable {
  /// A thread found the event busy and is about to queue.
  case foundBusy
  /// The thread inside has delivered and is about to leave.
  case leaving
  /// The thread inside could not leave, because something was queued, and is about to take it.
  case draining
  /// The lock is held, and the item is in the queue.
  case queued
  /// A handler was found locked, and what it is silent for is about to be held.
  case holding
  /// A claim is about to be made.
  case claiming

  #if DEBUG || EVENTING_EDGES
    // Safe: set before the threads that read it start, and reset after they ended.
    nonisolated(unsafe) package static var hook: (@Sendable (SyncPoint) -> Void)?
    @usableFromInline static func pass(_ syncPoint: SyncPoint) { unsafe hook?(syncPoint) }
  #endif
}

@inlinable @inline(__always) func syncPoint(_ syncPoint: @autoclosure () -> SyncPoint) {
  #if DEBUG || EVENTING_EDGES
    SyncPoint.pass(syncPoint())
  #endif
}
