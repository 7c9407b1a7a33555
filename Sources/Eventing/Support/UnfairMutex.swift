#if canImport(Darwin)
  public import Darwin

  /// `os_unfair_lock` lends its holder the priority of the waiters.
  @safe @usableFromInline package struct UnfairMutex: ~Copyable, @unchecked Sendable {
    // Safe: the pointer never changes, and only os_unfair_lock accesses what it points to.
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

  /// Guards a few instructions and is never held together with another mutex or while user code
  /// runs. A waiter spins, then yields, then sleeps. A first spin of two microseconds halved the
  /// throughput of four threads on two cores (x86-64 Linux). The thread sanitizer sees this mutex,
  /// unlike a contended `Synchronization.Mutex`.
  @usableFromInline package struct UnfairMutex: ~Copyable, Sendable {
    @usableFromInline let word = Atomic<UInt8>(0)

    @inlinable package init() {}
    @inlinable @inline(__always) borrowing func acquire() {
      if !word.compareExchange(expected: 0, desired: 1, ordering: .acquiring).exchanged { wait() }
    }
    // A plain store would let retains leave the critical section; see Publishing.swift.
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
  @inlinable @inline(__always) package borrowing func lock() {
    assertNoMutexIsHeld("take a mutex")
    acquire()
    #if DEBUG
      HeldMutex.isHeld = true
    #endif
  }

  @inlinable @inline(__always) package borrowing func unlock() {
    #if DEBUG
      HeldMutex.isHeld = false
    #endif
    release()
  }

  @inlinable @inline(__always) package borrowing func withLock<Result: ~Copyable>(_ body: () -> Result) -> Result {
    lock()
    defer { unlock() }
    return body()
  }
}
