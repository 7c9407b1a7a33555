/// A point between two steps where another thread may intervene.
///
/// In a debug build, and where `EVENTING_SYNC_POINTS` is defined, a test can hold a thread there,
/// or delay all threads at random. Other builds contain nothing of it. Each case is one of the
/// interleavings that the tests force.
@usableFromInline package enum SyncPoint: Sendable {
  /// A thread found the event busy and is about to enqueue.
  case foundBusy
  /// The thread inside the core has delivered and is about to leave.
  case leaving
  /// The thread inside the core could not leave, because work had been enqueued. That thread is
  /// about to dequeue the work.
  case draining
  /// A thread that enqueues has put its work into the mailbox of the core. It still holds
  /// `core.mutex`, and the state word does not say yet that work is enqueued.
  case queued
  /// A handler was found locked, and the occurrence is about to be held for it.
  case holding
  /// A handler is about to be claimed.
  case claiming
  /// The state of a handler has changed, and the fast path is about to be closed.
  case noting

  #if DEBUG || EVENTING_SYNC_POINTS
    // Safe: set before the threads that read it start, and reset after they ended.
    nonisolated(unsafe) package static var hook: (@Sendable (SyncPoint) -> Void)?
    @usableFromInline static func pass(_ syncPoint: SyncPoint) { unsafe hook?(syncPoint) }
  #endif
}

/// Passes a point where a test may hold the thread. Does nothing, unless the build is a debug build
/// or defines `EVENTING_SYNC_POINTS`.
@inlinable @inline(__always) func syncPoint(_ syncPoint: @autoclosure () -> SyncPoint) {
  #if DEBUG || EVENTING_SYNC_POINTS
    SyncPoint.pass(syncPoint())
  #endif
}
