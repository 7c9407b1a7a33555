import Foundation
import Testing

/// Reads the code in documents, and compares it with the code that tests run.
enum Articles {
  /// The folder of the package `Integrations`.
  static var integrations: URL {
    URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
  }

  /// Returns the URL of a guide of the main package, which is in the parent folder.
  static func guide(_ name: String) -> URL {
    integrations.deletingLastPathComponent().appending(path: "Sources/Eventing/Eventing.docc/Guides/\(name)")
  }

  /// False in the published package, which stands alone.
  static var hasGuides: Bool { FileManager.default.fileExists(atPath: guide("OnTheServer.md").path()) }

  /// Returns the lines of each fenced Swift example, without imports.
  static func fenced(_ url: URL) throws -> [[String]] {
    try blocks(url) { line, isFenced in isFenced && !line.hasPrefix("```") }
  }

  /// Returns the lines of each example that is indented by four spaces, without imports.
  static func indented(_ url: URL) throws -> [[String]] {
    try blocks(url) { line, isFenced in !isFenced && line.hasPrefix("    ") }
  }

  /// Expects that each example stands in a test file, line by line.
  static func expect(_ examples: [[String]], in file: String) throws {
    let run = lines(of: try text(integrations.appending(path: "Tests/EventingArticleTests/\(file)")))
    for example in examples {
      let isRun = run.indices.contains { run[$0...].starts(with: example) }
      #expect(isRun, "not in \(file) as it stands in the document: \(example.first ?? "")")
    }
  }

  static func text(_ url: URL) throws -> String { try String(contentsOf: url, encoding: .utf8) }

  private static func lines(of text: String) -> [String] {
    text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
  }

  /// Returns groups of lines that are code. Empty lines do not end a group.
  private static func blocks(_ url: URL, isCode: (_ line: String, _ isFenced: Bool) -> Bool) throws -> [[String]] {
    var (blocks, isFenced, isInside) = ([[String]](), false, false)
    for line in try text(url).split(separator: "\n").map(String.init) {
      let words = line.trimmingCharacters(in: .whitespaces)
      if words.isEmpty { continue }
      if words.hasPrefix("```") { isFenced = words == "```swift" }
      guard isCode(line, isFenced) else {
        isInside = false
        continue
      }
      if words.hasPrefix("import ") { continue }
      if isInside { blocks[blocks.count - 1].append(words) } else { blocks.append([words]) }
      isInside = true
    }
    return blocks
  }
}
