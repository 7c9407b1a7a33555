#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// The number of calls that a block or task of a lane makes before it gives way to other work.
///
/// The quota is 256 calls, and on the main queue also 4 ms. The block or task makes at least one
/// call. On the main queue, it reads the clock before each further call, so it lasts at most 4 ms
/// and one call.
package struct DrainQuota {
  static var calls: Int { 256 }
  static var nanoseconds: UInt64 { 4_000_000 }

  /// The number of calls that the block or task may still make.
  var left = DrainQuota.calls
  /// The instant at which the quota is used up, in nanoseconds on the clock of ``DrainQuota/now``;
  /// `nil` for no such instant.
  let end: UInt64?

  /// Whether a worker that finds nothing more may spin, and look once more.
  let spins: Bool

  init(isMain: Bool, spins: Bool) {
    // In a simulation, nothing may depend on real time.
    end = isMain && !Scheduling.isSimulated ? DrainQuota.now + DrainQuota.nanoseconds : nil
    self.spins = spins
  }

  /// Whether the block or task has made a call.
  var hasBegun: Bool { left < DrainQuota.calls }

  var isOver: Bool { left == 0 || (end.map { hasBegun && DrainQuota.now >= $0 } ?? false) }

  #if os(Linux) || os(Android)
    /// The coarse clock if its resolution is at most 4 ms, otherwise the exact clock. On some
    /// virtual machines, reading the exact clock enters the kernel, and reading the coarse one does
    /// not.
    private static let clock: clockid_t = {
      var resolution = timespec()
      let isKnown = unsafe clock_getres(CLOCK_MONOTONIC_COARSE, &resolution) == 0
      return isKnown && resolution.tv_sec == 0 && resolution.tv_nsec <= 4_000_000
        ? CLOCK_MONOTONIC_COARSE : CLOCK_MONOTONIC
    }()

    /// The time of a monotonic clock, in nanoseconds.
    static var now: UInt64 {
      var time = timespec()
      _ = unsafe clock_gettime(clock, &time)
      return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
    }

    /// The time of the exact monotonic clock, in nanoseconds.
    package static var exactNow: UInt64 {
      var time = timespec()
      _ = unsafe clock_gettime(CLOCK_MONOTONIC, &time)
      return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
    }
  #else
    /// The time of a monotonic clock, in nanoseconds.
    static var now: UInt64 { clock_gettime_nsec_np(CLOCK_UPTIME_RAW) }

    package static var exactNow: UInt64 { clock_gettime_nsec_np(CLOCK_UPTIME_RAW) }
  #endif
}
