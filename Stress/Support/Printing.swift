import Foundation

/// Writes to the standard output and the standard error.
enum Print {
  static let isTerminal = isatty(1) == 1

  static func out(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }
  static func error(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }

  /// Writes a line that replaces the previous one.
  static func replacing(_ text: String) { FileHandle.standardOutput.write(Data(("\r\u{1B}[K" + text).utf8)) }
}

/// Formats numbers for people, with few digits and a suffix.
enum Format {
  static func count(_ number: Int) -> String {
    let size = Double(abs(number))
    return switch size {
    case ..<10_000: "\(number)"
    case ..<999_500: fixed(Double(number) / 1e3, size < 99_950 ? 1 : 0) + "k"
    case ..<999_500_000: fixed(Double(number) / 1e6, size < 99_950_000 ? 1 : 0) + "M"
    default: fixed(Double(number) / 1e9, 1) + "G"
    }
  }

  static func time(_ nanoseconds: UInt64?) -> String {
    guard let nanoseconds else { return "-" }
    let size = Double(nanoseconds)
    return switch size {
    case ..<1e3: "\(nanoseconds)ns"
    case ..<999_500: fixed(size / 1e3, size < 99_950 ? 1 : 0) + "us"
    case ..<999_500_000: fixed(size / 1e6, size < 99_950_000 ? 1 : 0) + "ms"
    default: fixed(size / 1e9, 1) + "s"
    }
  }

  static func megabytes(_ bytes: Double) -> String { fixed(bytes / 1_048_576, 1) }

  static func fixed(_ number: Double, _ digits: Int) -> String { String(format: "%.\(digits)f", number) }
}
