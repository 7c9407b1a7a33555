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

/// The operations on threads that the package uses.
@usableFromInline package enum Thread {
  /// A number for the calling thread that no other living thread has. Its three lowest bits are 0.
  ///
  /// An async function may call this before and after an `await`, on two threads. Glibc and Bionic
  /// declare `pthread_self` and `gettid` as `__attribute__((const))`. So the optimizer calls them
  /// once, and takes the first thread's number for that of the second. There the number comes from
  /// a declaration without the attribute.
  @inlinable @inline(__always) package static var current: UInt {
    #if canImport(Glibc)
      currentThread()
    #elseif canImport(Android)
      UInt(truncatingIfNeeded: currentThread()) << 3
    #else
      unsafe UInt(bitPattern: pthread_self())
    #endif
  }

  /// The number of rounds that a thread spins before it takes a costlier step. All these rounds
  /// together take about a microsecond.
  static var spinLimit: Int { 1_000 }

  /// Spins for some rounds without touching memory that other threads write.
  ///
  /// `@_optimize(none)`, because the optimizer would remove the loop.
  @inline(never) @_optimize(none) static func spin(_ rounds: Int) {
    var left = rounds
    while left > 0 { left &-= 1 }
  }

  /// Offers the processor core to another thread.
  static func giveWay() { sched_yield() }

  /// Lets the calling thread sleep, without waiting for another thread. On Linux, a sleep of 10
  /// microseconds takes about 65 microseconds.
  static func nap(microseconds: UInt32) { _ = usleep(microseconds) }
}
