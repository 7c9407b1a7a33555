#if NATS
  import EventingTransport
  import Foundation

  struct LibraryError: Error, CustomStringConvertible {
    /// The text contains no credentials.
    let text: String
    var isLate = false

    var description: String { text }

    func refused(_ expected: String) -> TransportError {
      TransportError(.refused, "expected \(expected); libnats says: \(text)")
    }
  }

  func withStrings(
    _ strings: [String], _ body: (UnsafeMutableBufferPointer<UnsafePointer<CChar>?>) throws -> Void
  ) rethrows {
    let copies = unsafe strings.map { unsafe strdup($0) }
    defer { unsafe copies.forEach { unsafe free($0) } }
    var pointers = unsafe copies.map { unsafe UnsafePointer<CChar>($0) }
    try unsafe pointers.withUnsafeMutableBufferPointer { try unsafe body($0) }
  }
#endif
