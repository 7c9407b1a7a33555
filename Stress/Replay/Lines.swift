import Foundation

/// The lines of a file or of the standard input, which is read in chunks. Memory contains only one
/// chunk and the current line.
///
/// A line ends with a newline, which a carriage return may precede, or with the end of the input.
/// Real logs contain lines that are not UTF-8. Replacement characters stand for the invalid bytes,
/// so that no line is lost.
struct Lines {
  private let handle: FileHandle
  private let path: String
  private var buffer: [UInt8] = []
  /// The index of the first byte that was not returned.
  private var start = 0
  /// The index up to which the buffer was searched for a newline.
  private var searched = 0
  private var isAtEnd = false
  /// The number of lines that were not UTF-8.
  private(set) var repaired = 0

  /// Opens a file, or the standard input if the path is `-`.
  ///
  /// - Throws: `UsageError` if the file does not exist, is a folder, or cannot be read.
  init(_ path: String) throws {
    self.path = path
    if path == "-" {
      handle = .standardInput
      return
    }
    var isFolder: ObjCBool = false
    guard unsafe FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else {
      throw UsageError("replay: expected a file; there is none at \"\(path)\"")
    }
    if isFolder.boolValue { throw UsageError("replay: expected a file; \"\(path)\" is a folder") }
    guard let handle = FileHandle(forReadingAtPath: path) else {
      throw UsageError("replay: expected a file that can be read; \"\(path)\" cannot")
    }
    self.handle = handle
  }

  /// Returns the next line, or nil at the end.
  ///
  /// - Throws: `UsageError` if the input cannot be read.
  mutating func next() throws -> String? {
    while true {
      if let end = buffer[searched...].firstIndex(of: UInt8(ascii: "\n")) {
        defer {
          start = end + 1
          searched = start
        }
        return text(buffer[start..<end])
      }
      searched = buffer.count
      if isAtEnd {
        guard start < buffer.count else { return nil }
        defer { start = buffer.count }
        return text(buffer[start...])
      }
      try refill()
    }
  }

  private mutating func refill() throws {
    if start > 0 {
      buffer.removeFirst(start)
      searched -= start
      start = 0
    }
    do {
      if let piece = try handle.read(upToCount: 1 << 18), !piece.isEmpty { buffer += piece } else { isAtEnd = true }
    } catch {
      let input = path == "-" ? "the standard input" : "\"\(path)\""
      let cause = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError
      throw UsageError(
        "replay: expected lines; \(input) cannot be read: \((cause ?? error as NSError).localizedDescription)")
    }
  }

  private mutating func text(_ bytes: ArraySlice<UInt8>) -> String {
    let bytes = bytes.last == UInt8(ascii: "\r") ? bytes.dropLast() : bytes
    if let text = String(validating: bytes, as: UTF8.self) { return text }
    repaired += 1
    return String(decoding: bytes, as: UTF8.self)
  }
}
