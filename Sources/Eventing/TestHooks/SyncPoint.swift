/// A point where a test can hold a thread or delay all threads at random.
@usableFromInline package enum SyncPoint: Sendable {
  case foundBusy
  case leaving
  case draining
  /// The thread holds `core.mutex`, and the state word doesn't yet say that work is enqueued.
  case queued
  case holding
  case claiming
  case noting

  #if DEBUG || EVENTING_SYNC_POINTS
    // Safe: set before the threads that read it start, and reset after they have ended.
    nonisolated(unsafe) package static var hook: (@Sendable (SyncPoint) -> Void)?
    @usableFromInline static func pass(_ syncPoint: SyncPoint) { unsafe hook?(syncPoint) }
  #endif
}

@inlinable @inline(__always) func syncPoint(_ syncPoint: @autoclosure () -> SyncPoint) {
  #if DEBUG || EVENTING_SYNC_POINTS
    SyncPoint.pass(syncPoint())
  #endif
}
