#if canImport(Darwin)
  public import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  public import Musl
#elseif canImport(Android)
  public import Android
#endif
internal import Synchronization

#if canImport(Glibc)
  /// C11's `thrd_current`, which returns what `pthread_self` returns, in Glibc since 2.28.
  ///
  /// Safe: a function without parameters that returns a word is called in Swift's convention as it
  /// is in that of C.
  @_silgen_name("thrd_current") @usableFromInline func currentThread() -> UInt
#elseif canImport(Android)
  /// Safe: as for Glibc.
  @_silgen_name("gettid") @usableFromInline func currentThread() -> Int32
#endif

@usableFromInline package enum Thread {
  /// Unique among living threads; the three lowest bits are 0. `pthread_self` of Glibc and `gettid`
  /// of Bionic are `__attribute__((const))`, so the optimizer would reuse the number from before an
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

  /// Touches no memory that other threads write. The optimizer would remove the loop.
  @inline(never) @_optimize(none) static func spin(_ rounds: Int) {
    var left = rounds
    while left > 0 { left &-= 1 }
  }

  static func giveWay() { sched_yield() }

  /// Waits for no thread. On Linux, 10 microseconds take about 65.
  static func nap(microseconds: UInt32) { _ = usleep(microseconds) }
}
