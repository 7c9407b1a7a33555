public import Foundation

/// A key of a ``RemoteKeyedEvent``: a value with a text that is equal in all processes.
///
/// The text becomes one word of the subject. It may have any characters: the library escapes all
/// but letters, digits, `-` and `_`.
public protocol RemoteKey: Hashable, Sendable {
  /// The text of the key. Equal keys have equal texts, and different keys have different texts.
  var remoteText: String { get }
  /// Creates the key whose ``remoteText`` is the given text. Returns `nil` if there is no such key.
  init?(remoteText: String)
}

extension String: RemoteKey {
  /// The text in its composed form. Swift compares strings in that form, but subjects are compared
  /// byte by byte.
  public var remoteText: String { utf8.allSatisfy { $0 < 128 } ? self : precomposedStringWithCanonicalMapping }
  public init?(remoteText: String) {
    guard remoteText.remoteText.hasBytes(of: remoteText) else { return nil }
    self = remoteText
  }
}

extension RemoteKey where Self: FixedWidthInteger {
  public var remoteText: String { String(self) }
  public init?(remoteText: String) {
    // Only the text that `remoteText` returns is accepted: "+1" and "01" would be second texts of a
    // key.
    guard let number = Self(remoteText), String(number) == remoteText else { return nil }
    self = number
  }
}

extension Int: RemoteKey {}
extension Int8: RemoteKey {}
extension Int16: RemoteKey {}
extension Int32: RemoteKey {}
extension Int64: RemoteKey {}
extension UInt: RemoteKey {}
extension UInt8: RemoteKey {}
extension UInt16: RemoteKey {}
extension UInt32: RemoteKey {}
extension UInt64: RemoteKey {}

extension UUID: RemoteKey {
  public var remoteText: String { uuidString }
  public init?(remoteText: String) {
    // Lowercase letters are refused, so that each key has one text only.
    guard let id = UUID(uuidString: remoteText), id.uuidString == remoteText else { return nil }
    self = id
  }
}
