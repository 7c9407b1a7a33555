#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// The share of its queue that a block or task of a lane takes before it gives way to others.
///
/// A turn is 256 calls, and on the main queue 4 ms. It makes one call at least. The clock is read
/// before each of the others, so a turn on the main queue lasts at most 4 ms and one call.
@usableFromInline struct DrainQuota {
  @usableFromInline static var calls: Int { 256 }
  @usableFromInline static var nanoseconds: UInt64 { 4_000_000 }

  @usableFromInline var left = DrainQuota.calls
  /// Nanoseconds of ``DrainQuota/now``; `nil` for no limit of time.
  @usableFromInline let end: UInt64?

  @inlinable init(isMain: Bool) { end = isMain ? DrainQuota.endFromNow() : nil }

  /// Whether it has made any call.
  @inlinable var hasBegun: Bool { left < DrainQuota.calls }

  @inlinable var isOver: Bool { left == 0 || (end.map { hasBegun && DrainQuota.now >= $0 } ?? false) }

  /// Nil in a simulation, where nothing may depend on real time.
  @usableFromInline static func endFromNow() -> UInt64? { Scheduling.isSimulated ? nil : now + nanoseconds }

  #if os(Linux) || os(Android)
    /// The coarse clock reads memory; the exact one asks the kernel on some virtual machines.
    private static let clock: clockid_t = {
      var resolution = timespec()
      let isKnown = unsafe clock_getres(CLOCK_MONOTONIC_COARSE, &resolution) == 0
      return isKnown && resolution.tv_sec == 0 && resolution.tv_nsec <= 4_000_000
        ? CLOCK_MONOTONIC_COARSE : CLOCK_MONOTONIC
    }()

    @usableFromInline static var now: UInt64 {
      var time = timespec()
      _ = unsafe clock_gettime(clock, &time)
      return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
    }
  #else
    @usableFromInline static var now: UInt64 { clock_gettime_nsec_np(CLOCK_UPTIME_RAW) }
  #endif
}
