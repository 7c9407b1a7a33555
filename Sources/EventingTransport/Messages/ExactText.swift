extension String {
  /// Whether both have the same bytes. For Swift's `==`, an `é` of one character equals an `é` of
  /// two.
  package func hasBytes(of other: String) -> Bool {
    // Comparing the bytes of two buffers takes much less time than comparing two `UTF8View`s.
    let areEqual = unsafe utf8.withContiguousStorageIfAvailable { own in
      unsafe other.utf8.withContiguousStorageIfAvailable { unsafe own.elementsEqual($0) }
    }
    return areEqual.flatMap(\.self) ?? utf8.elementsEqual(other.utf8)
  }
}

/// Compared by its bytes, as engines and databases compare ids. For Swift, an `é` of one character
/// equals an `é` of two.
package struct ExactText: Hashable, Sendable {
  private let bytes: [UInt8]

  package init(_ text: String) { bytes = Array(text.utf8) }
}
