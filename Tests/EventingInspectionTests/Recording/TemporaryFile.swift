import Foundation

/// A path in the temporary folder. The `deinit` removes the file at that path.
final class TemporaryFile: Sendable {
  let path: String

  init(_ suffix: String = "jsonl") {
    path = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).\(suffix)").path
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  var text: String { get throws { try String(contentsOfFile: path, encoding: .utf8) } }

  func write(_ text: String) throws { try text.write(toFile: path, atomically: true, encoding: .utf8) }
}
