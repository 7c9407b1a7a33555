import Eventing

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// Nanoseconds since the first use, on a clock that does not go back.
enum InspectionClock {
  private static let origin: (instant: UInt64, wall: UInt64) = {
    var time = timespec()
    _ = unsafe clock_gettime(CLOCK_REALTIME, &time)
    return (instant, UInt64(time.tv_sec) &* 1_000 &+ UInt64(time.tv_nsec) / 1_000_000)
  }()

  /// `DrainQuota.exactNow`, inlined.
  private static var instant: UInt64 {
    #if canImport(Darwin)
      return clock_gettime_nsec_np(CLOCK_UPTIME_RAW)
    #else
      var time = timespec()
      _ = unsafe clock_gettime(CLOCK_MONOTONIC, &time)
      return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
    #endif
  }

  static var now: UInt64 {
    let origin = origin
    return instant &- origin.instant
  }

  /// Converts an instant of `DrainQuota.exactNow` to the time since the clock was first used; 0 for
  /// earlier instants.
  static func time(_ instant: UInt64) -> UInt64 {
    let start = origin.instant
    return instant > start ? instant &- start : 0
  }

  /// The time of day at the first use, in milliseconds since 1970.
  static var epoch: UInt64 { origin.wall }
}
