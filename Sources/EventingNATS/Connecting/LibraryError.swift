#if NATS
  import EventingTransport

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
#endif
