#if canImport(Darwin)
  public import Darwin
#elseif canImport(Glibc)
  public import Glibc
#elseif canImport(Musl)
  public import Musl
#elseif canImport(Android)
  public import Android
#endif
internal import Synchronization

/// What the package asks of the platform's threads.
@usableFromInline package enum Thread {
  /// A number that no other living thread has; its three lowest flags are clear.
  @inlinable @inline(__always) package static var current: UInt {
    #if canImport(Glibc)
      pthread_self()
    #else
      UInt(bitPattern: pthread_self())
    #endif
  }

  /// Passes a short time without touching memory that others write: some nanoseconds a round. Not optimised: the compiler would find that there is nothing in it.
  @usableFromInline @inline(never) @_optimize(none) static func spin(_ rounds: Int) {
    var left = rounds
    while left > 0 { left &-= 1 }
  }

  /// Lets another thread have the core.
  @usableFromInline static func giveWay() { sched_yield() }

  /// Sleeps, holding nothing and waiting for nobody. Linux makes 65 microseconds of 10.
  @usableFromInline static func nap(microseconds: UInt32) { _ = usleep(microseconds) }
}
