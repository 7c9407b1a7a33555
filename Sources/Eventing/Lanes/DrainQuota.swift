#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

package struct DrainQuota {
  static var calls: Int { 256 }
  static var nanoseconds: UInt64 { 4_000_000 }

  var left = DrainQuota.calls
  let end: UInt64?

  let spins: Bool

  init(isMain: Bool, spins: Bool) {
    // In a simulation, nothing may depend on real time.
    end = isMain && !Scheduling.isSimulated ? DrainQuota.now + DrainQuota.nanoseconds : nil
    self.spins = spins
  }

  var hasBegun: Bool { left < DrainQuota.calls }

  var isOver: Bool { left == 0 || (end.map { hasBegun && DrainQuota.now >= $0 } ?? false) }

  #if os(Linux) || os(Android)
    /// On some virtual machines, only reading the exact clock enters the kernel.
    private static let clock: clockid_t = {
      var resolution = timespec()
      let isKnown = unsafe clock_getres(CLOCK_MONOTONIC_COARSE, &resolution) == 0
      return isKnown && resolution.tv_sec == 0 && resolution.tv_nsec <= 4_000_000
        ? CLOCK_MONOTONIC_COARSE : CLOCK_MONOTONIC
    }()

    static var now: UInt64 {
      var time = timespec()
      _ = unsafe clock_gettime(clock, &time)
      return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
    }

    package static var exactNow: UInt64 {
      var time = timespec()
      _ = unsafe clock_gettime(CLOCK_MONOTONIC, &time)
      return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
    }
  #else
    static var now: UInt64 { clock_gettime_nsec_np(CLOCK_UPTIME_RAW) }

    package static var exactNow: UInt64 { clock_gettime_nsec_np(CLOCK_UPTIME_RAW) }
  #endif
}
