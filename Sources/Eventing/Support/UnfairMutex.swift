#if canImport(Darwin)
  public import Darwin

  /// The one lock of the package: for a few instructions, never held together with another, nor while user code runs.
  ///
  /// On Apple's systems it is `os_unfair_lock`: it lends its holder the priority of those who wait.
  @usableFromInline package struct UnfairMutex: ~Copyable, @unchecked Sendable {
    // Safe: the pointer never changes, and what it points to is touched by os_unfair_lock alone.
    @usableFromInline let handle: UnsafeMutablePointer<os_unfair_lock_s>

    @inlinable package init() {
      unsafe handle = .allocate(capacity: 1)
      unsafe handle.initialize(to: os_unfair_lock_s())
    }
    @inlinable deinit { unsafe handle.deallocate() }
    @inlinable @inline(__always) borrowing func acquire() { unsafe os_unfair_lock_lock(handle) }
    @inlinable @inline(__always) borrowing func release() { unsafe os_unfair_lock_unlock(handle) }
  }
#else
  public import Synchronization

  /// The one lock of the package: for a few instructions, never held together with another, nor while user code runs.
  ///
  /// It looks some times, then gives its core away, then naps, so that a holder that lost its core gets one: to spin for two microseconds before that halved what four
  /// threads on two cores got done. The thread sanitizer sees it,
  /// unlike `Synchronization.Mutex` when that is contended; it takes one byte of the event.
  @usableFromInline package struct UnfairMutex: ~Copyable, Sendable {
    @usableFromInline let word = Atomic<UInt8>(0)

    @inlinable package init() {}
    @inlinable @inline(__always) borrowing func acquire() {
      if !word.compareExchange(expected: 0, desired: 1, ordering: .acquiring).exchanged { wait() }
    }
    // A plain store would let retains leave the critical section: Publishing.swift.
    @inlinable @inline(__always) borrowing func release() { word.publish(0) }

    @usableFromInline @inline(never) borrowing func wait() {
      var round = 0
      while word.load(ordering: .relaxed) != 0
        || !word.compareExchange(expected: 0, desired: 1, ordering: .acquiring).exchanged
      {
        round += 1
        guard round > 40 else { continue }
        if round < 1_000 { Thread.giveWay() } else { Thread.nap(microseconds: 50) }
      }
    }
  }
#endif

extension UnfairMutex {
  @inlinable @inline(__always) borrowing func lock() {
    assertNoMutexIsHeld("take another")
    acquire()
    #if DEBUG
      HeldMutex.isHeld = true
    #endif
  }

  @inlinable @inline(__always) borrowing func unlock() {
    #if DEBUG
      HeldMutex.isHeld = false
    #endif
    release()
  }

  /// Runs `body` under the lock.
  @inlinable @inline(__always) package borrowing func withLock<Result: ~Copyable>(_ body: () -> Result) -> Result {
    lock()
    defer { unlock() }
    return body()
  }
}
