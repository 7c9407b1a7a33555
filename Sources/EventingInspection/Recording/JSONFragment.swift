import Foundation

/// Pieces of JSON text on one line.
enum JSONFragment {
  static let null = Array("null".utf8)

  /// Returns a value as JSON. It has no line break.
  static func bytes(_ value: some Encodable) throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return Array(try encoder.encode(value))
  }

  /// Returns a text as a JSON string.
  static func text(_ string: String) -> String {
    (try? bytes(string)).map { String(decoding: $0, as: UTF8.self) } ?? "\"\""
  }

  /// Returns a number, or `null`.
  static func text(_ number: Int?) -> String { number.map { "\($0)" } ?? "null" }
}
