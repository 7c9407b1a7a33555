import Foundation

/// The word counts, summed over all files that have been read.
actor WordCounts {
  private(set) var counts: [String: Int] = [:]
  private(set) var files: [URL] = []
  private var total = 0

  func expect(_ total: Int) { self.total = total }

  /// Adds the words of one file. The actor reports the files one after the other, so the reported
  /// numbers ascend.
  func add(_ words: [String: Int], of file: URL, telling progress: @Sendable (Indexer.Progress) -> Void) {
    counts.merge(words, uniquingKeysWith: +)
    files.append(file)
    progress(Indexer.Progress(read: files.count, total: total))
  }
}

struct NotText: Error {}

/// Returns the number of occurrences of each word in a file.
func countWords(of file: URL) throws -> [String: Int] {
  guard let text = String(data: try Data(contentsOf: file), encoding: .utf8) else { throw NotText() }
  var counts: [String: Int] = [:]
  for word in text.split(whereSeparator: { !$0.isLetter }) { counts[word.lowercased(), default: 0] += 1 }
  return counts
}

/// Returns the files of a folder and of its subfolders. Stops when a condition no longer holds.
func regularFiles(in folder: URL, while goesOn: () -> Bool) -> [URL] {
  var files: [URL] = []
  let all = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: [.isRegularFileKey])
  while goesOn(), let file = all?.nextObject() as? URL {
    if (try? file.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile) == true { files.append(file) }
  }
  return files
}
