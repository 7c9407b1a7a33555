import Foundation

enum JSONFragment {
  static let null = Array("null".utf8)

  /// Without line breaks.
  static func bytes(_ value: some Encodable) throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return Array(try encoder.encode(value))
  }

  static func text(_ string: String) -> String {
    (try? bytes(string)).map { String(decoding: $0, as: UTF8.self) } ?? "\"\""
  }

  static func text(_ number: Int?) -> String { number.map { "\($0)" } ?? "null" }
}
