import Foundation

/// A folder of generated files in ten subfolders, and one file that is not text.
struct Library {
  let folder: URL
  /// The words of each file, by its name.
  let texts: [String: [String]]

  /// Returns the expected number of occurrences of each word in some files, counted by a simple
  /// loop.
  func count(_ files: [URL]) -> [String: Int] {
    var counts: [String: Int] = [:]
    for file in files { for word in texts[file.lastPathComponent] ?? [] { counts[word, default: 0] += 1 } }
    return counts
  }
}

/// Calls a closure with a generated folder, and removes the folder afterwards.
func withLibrary(files: Int, _ body: (Library) async throws -> Void) async throws {
  let folder = FileManager.default.temporaryDirectory.appending(path: "library-\(UUID())")
  defer { try? FileManager.default.removeItem(at: folder) }
  var texts: [String: [String]] = [:]
  for number in 0..<files {
    let shelf = folder.appending(path: "shelf \(number % 10)")
    try FileManager.default.createDirectory(at: shelf, withIntermediateDirectories: true)
    let words = (0..<100).map { ["tea", "straße", "naïve", "of", "swift"][(number + $0 * $0) % 5] }
    texts["\(number).txt"] = words
    try Data(words.joined(separator: number.isMultiple(of: 2) ? ", " : "\n").utf8)
      .write(to: shelf.appending(path: "\(number).txt"))
  }
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  try Data([0xFF, 0xFE, 0xFF]).write(to: folder.appending(path: "picture"))
  try await body(Library(folder: folder, texts: texts))
}
