#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// Used by one thread at a time.
final class RecordingFile: Sendable {
  private let path: String
  private let descriptor: Int32

  /// Only the user can read it. A file or a symbolic link at the path is replaced.
  init(creating path: String) throws {
    guard !path.isEmpty else { throw InspectionError(.badPath, "expected the path of a file, got an empty one") }
    self.path = path
    var status = stat()
    if unsafe lstat(path, &status) == 0 {
      let kind = status.st_mode & S_IFMT
      guard kind == S_IFREG || kind == S_IFLNK else {
        throw InspectionError(.pathTaken, "expected a file or nothing at \(path), got something else")
      }
      _ = unsafe unlink(path)
    }
    descriptor = unsafe open(path, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw RecordingFile.error("create", path) }
  }

  /// Keeps the content: each write appends.
  init(appendingTo path: String) throws {
    self.path = path
    descriptor = unsafe open(path, O_WRONLY | O_APPEND | O_CLOEXEC)
    guard descriptor >= 0 else { throw RecordingFile.error("open", path) }
  }

  /// Replaces another file when it is whole. Only the user can read it.
  static func replace(_ path: String, with bytes: [UInt8]) throws {
    let temporary = "\(path).\(getpid())-\(UInt32.random(in: 0 ... .max))"
    let file = try RecordingFile(creating: temporary)
    do {
      defer { try? file.close() }
      try file.write(bytes)
    } catch {
      _ = unsafe unlink(temporary)
      throw error
    }
    guard unsafe rename(temporary, path) == 0 else {
      let error = RecordingFile.error("replace", path)
      _ = unsafe unlink(temporary)
      throw error
    }
  }

  func write(_ bytes: [UInt8]) throws {
    var written = 0
    while written < bytes.count {
      let count = unsafe bytes.withUnsafeBytes { buffer in
        // Safe: `written` is below the number of bytes.
        unsafe systemWrite(descriptor, buffer.baseAddress.unsafelyUnwrapped + written, buffer.count - written)
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw RecordingFile.error("write to", path) }
      written += count
    }
  }

  func close() throws {
    // The system may report a full disk only here.
    guard systemClose(descriptor) == 0 || errno == EINTR else { throw RecordingFile.error("close", path) }
  }

  private static func error(_ verb: String, _ path: String) -> InspectionError {
    let reason = unsafe String(cString: strerror(errno))
    return InspectionError(.system, "expected to \(verb) \(path), got: \(reason)")
  }
}

// Inside the class, `write` and `close` would call its own methods.
private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer, _ count: Int) -> Int {
  unsafe write(descriptor, bytes, count)
}
private func systemClose(_ descriptor: Int32) -> Int32 { close(descriptor) }
