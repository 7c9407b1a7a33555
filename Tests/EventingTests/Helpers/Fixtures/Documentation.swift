import Foundation

/// The code in the documentation, to compare with the code of tests.
enum Documentation {
  static var root: URL {
    URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
  }

  static var readme: URL { root.appending(path: "README.md") }

  static func article(_ name: String) -> URL { root.appending(path: "Sources/Eventing/Eventing.docc/\(name)") }

  /// Without empty lines, and without the white space around each.
  static func lines(_ url: URL) throws -> [String] {
    let all = try String(contentsOf: url, encoding: .utf8).split(separator: "\n")
    return all.map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
  }

  /// The lines of the documentation tests.
  static func lines(ofTests prefix: String) throws -> [String] {
    let folder = root.appending(path: "Tests/EventingTests/Documentation")
    let paths = try FileManager.default.subpathsOfDirectory(atPath: folder.path()).sorted()
    return try paths.map { folder.appending(path: $0) }.filter { $0.lastPathComponent.hasPrefix(prefix) }.flatMap(lines)
  }

  /// Without imports.
  static func examples(_ url: URL) throws -> [[String]] {
    var examples: [[String]] = []
    var isSwift = false
    for line in try lines(url) {
      if line == "```swift" {
        isSwift = true
        examples.append([])
      } else if line == "```" {
        isSwift = false
      } else if isSwift, !line.hasPrefix("import ") {
        examples[examples.count - 1].append(line)
      }
    }
    return examples
  }

  /// The code in the last column of each table row.
  static func lastColumns(_ url: URL) throws -> [[String]] {
    try lines(url).compactMap { line in
      guard line.hasPrefix("| "), !line.hasPrefix("| ---"), line.hasSuffix(" |") else { return nil }
      let cell = line.dropFirst(2).dropLast(2).components(separatedBy: " | ").last ?? ""
      let pieces = cell.components(separatedBy: "`")
      return pieces.indices.filter { $0 % 2 == 1 }.map { pieces[$0] }
    }
  }
}
