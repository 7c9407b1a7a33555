/// Compared by its bytes, as engines and databases compare ids. For Swift, an `é` of one character
/// equals an `é` of two.
package struct ExactText: Hashable, Sendable {
  private let bytes: [UInt8]

  package init(_ text: String) { bytes = Array(text.utf8) }
}
