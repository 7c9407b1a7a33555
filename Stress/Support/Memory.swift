import Foundation

/// Reads the memory use of the process.
enum Memory {
  /// The number of resident bytes: the current number on Linux, the peak elsewhere. 0 if the system
  /// does not provide it.
  static var resident: Int {
    #if os(Linux)
      guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else { return 0 }
      let fields = text.split(separator: " ")
      return fields.count > 1 ? (Int(fields[1]) ?? 0) * pageSize : 0
    #else
      var usage = rusage()
      return unsafe getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_maxrss : 0
    #endif
  }

  private static let pageSize = sysconf(Int32(_SC_PAGESIZE))
}

/// The memory use over time, and its trend.
struct MemoryTrend: Sendable {
  private var samples: [(seconds: Double, bytes: Double)] = []
  private(set) var peak = 0

  mutating func add(at seconds: Double, _ bytes: Int) {
    peak = max(peak, bytes)
    samples.append((seconds, Double(bytes)))
  }

  /// The growth in bytes per second, fitted to the second half of the samples. By then the buffers
  /// of the library have reached their full size.
  var slope: Double {
    let late = samples.suffix(samples.count / 2)
    guard late.count > 2 else { return 0 }
    let number = Double(late.count)
    let meanTime = late.reduce(0) { $0 + $1.seconds } / number
    let meanBytes = late.reduce(0) { $0 + $1.bytes } / number
    let spread = late.reduce(0) { $0 + ($1.seconds - meanTime) * ($1.seconds - meanTime) }
    let joint = late.reduce(0) { $0 + ($1.seconds - meanTime) * ($1.bytes - meanBytes) }
    return spread > 0 ? joint / spread : 0
  }
}
