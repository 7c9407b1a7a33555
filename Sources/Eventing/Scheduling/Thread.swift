#if canImport(Darwin)
  public import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  public import Musl
#elseif canImport(Android)
  internal import Android
#endif
internal import Synchronization

#if canImport(Glibc)
  /// C11's `thrd_current`, which returns the same value as `pthread_self` and has been in Glibc
  /// since 2.28.
  ///
  /// Safe: a function without parameters that returns a word is called the same way in Swift's and
  /// in C's calling convention.
  @_silgen_name("thrd_current") @usableFromInline func currentThread() -> UInt
#elseif canImport(Android)
  /// Safe: as for Glibc.
  @_silgen_name("gettid") @usableFromInline func currentThread() -> Int32
#endif

@usableFromInline package enum Thread {
  /// Unique among living threads; the three lowest bits are 0. Glibc's `pthread_self` and Bionic's
  /// `gettid` are `__attribute__((const))`, so the optimizer would reuse a number read before an
  /// `await`.
  @inlinable @inline(__always) package static var current: UInt {
    #if canImport(Glibc)
      currentThread()
    #elseif canImport(Android)
      UInt(truncatingIfNeeded: currentThread()) << 3
    #else
      unsafe UInt(bitPattern: pthread_self())
    #endif
  }

  static var spinLimit: Int { 1_000 }

  /// Touches no memory that other threads write. Not optimized, because the optimizer would remove
  /// the loop.
  @inline(never) @_optimize(none) static func spin(_ rounds: Int) {
    var left = rounds
    while left > 0 { left &-= 1 }
  }

  static func giveWay() { sched_yield() }

  /// Doesn't wait for another thread. On Linux, a nap of 10 microseconds takes about 65.
  static func nap(microseconds: UInt32) { _ = usleep(microseconds) }
}
