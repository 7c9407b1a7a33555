#if NATS
  import EventingTransport
  import Foundation

  /// The error of a call of libnats.
  struct LibraryError: Error, CustomStringConvertible {
    /// The text of libnats, without credentials.
    let text: String
    /// Whether the call took too long.
    var isLate = false

    var description: String { text }

    /// Returns the error that a caller throws: what it expected, and the text of libnats.
    func refused(_ expected: String) -> TransportError {
      TransportError(.refused, "expected \(expected); libnats says: \(text)")
    }
  }

  /// Calls a closure with copies of strings as C strings.
  func withStrings(
    _ strings: [String], _ body: (UnsafeMutableBufferPointer<UnsafePointer<CChar>?>) throws -> Void
  ) rethrows {
    let copies = unsafe strings.map { unsafe strdup($0) }
    defer { unsafe copies.forEach { unsafe free($0) } }
    var pointers = unsafe copies.map { unsafe UnsafePointer<CChar>($0) }
    try unsafe pointers.withUnsafeMutableBufferPointer { try unsafe body($0) }
  }
#endif
