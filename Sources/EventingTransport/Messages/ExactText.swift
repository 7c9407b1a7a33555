/// A text that is compared by its bytes, as engines and databases compare ids.
///
/// Swift compares two strings as equal if they look equal: an `é` of one character and an `é` of
/// two. Two messages with such ids are different messages.
package struct ExactText: Hashable, Sendable {
  private let bytes: [UInt8]

  package init(_ text: String) { bytes = Array(text.utf8) }
}
