#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// For wrong uses that the compiler cannot see and that nothing can throw.
package enum Warning {
  package static func tell(_ text: String) {
    let bytes = Array("eventing: \(text)\n".utf8)
    _ = unsafe write(2, bytes, bytes.count)
  }
}
