import Foundation
import Indexing

/// Draws the progress over the line that was drawn last.
func draw(_ progress: Indexer.Progress) {
  let width = 40
  let filled = progress.total == 0 ? width : width * progress.read / progress.total
  let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: width - filled)
  FileHandle.standardError.write(Data("\r[\(bar)] \(progress.read) of \(progress.total) files".utf8))
}
