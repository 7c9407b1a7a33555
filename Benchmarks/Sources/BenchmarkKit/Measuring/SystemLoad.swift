import CMeasure
import Foundation

/// A reading of the CPU time that other processes and the hypervisor have taken.
///
/// This is the time in /proc/stat minus this process's own time. On a system without that file, the
/// load of other processes reads as zero.
package struct SystemLoad {
  private let busy: Double
  private let own: Double
  private let time: Double

  package static func now() -> SystemLoad {
    SystemLoad(busy: busyNanoseconds(), own: Double(cm_process_cpu()), time: Double(cm_now()))
  }

  /// Returns the CPU time that other processes and the hypervisor took between two readings,
  /// divided by the time between the readings: 1 is one whole core.
  package func others(until later: SystemLoad) -> Double {
    max(0, (later.busy - busy) - (later.own - own)) / max(1, later.time - time)
  }
  func nanoseconds(until later: SystemLoad) -> Double { later.time - time }

  /// Sleeps until other processes take less than 20 % of a core, for at most `limit` nanoseconds.
  ///
  /// Measures the load over windows of only 60 ms, to lose little time. In such a window, one tick
  /// of 10 ms by another process stays below 20 %. The load during the rounds that follow is
  /// measured over longer windows.
  ///
  /// - Returns: The nanoseconds slept.
  package static func waitForQuiet(limit: Double) -> Double {
    let start = now()
    while start.nanoseconds(until: now()) < limit {
      let before = now()
      cm_sleep(60_000)
      Watchdog.kick()
      if before.others(until: now()) < 0.2 { break }
    }
    return start.nanoseconds(until: now())
  }

  /// Returns the user, nice, system, interrupt and stolen time of all cores.
  ///
  /// /proc/stat counts in ticks of 10 ms.
  private static func busyNanoseconds() -> Double {
    guard let file = fopen("/proc/stat", "r") else { return 0 }
    defer { fclose(file) }
    var line = [UInt8](repeating: 0, count: 512)
    let length = fread(&line, 1, line.count, file)
    guard let first = String(decoding: line[..<length], as: UTF8.self).split(separator: "\n").first else { return 0 }
    let ticks = first.split(separator: " ").dropFirst().compactMap { Double($0) }
    guard ticks.count >= 8 else { return 0 }
    return (ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6] + ticks[7]) * 1e7
  }
}
