#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// Warnings about wrong uses that the compiler cannot see and that nothing can throw.
package enum Warning {
  /// Writes one line to standard error.
  package static func tell(_ text: String) {
    let bytes = Array("eventing: \(text)\n".utf8)
    _ = unsafe write(2, bytes, bytes.count)
  }
}
