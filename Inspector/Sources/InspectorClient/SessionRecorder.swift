import Foundation
import Synchronization

/// Writes the updates of an app into a file that only this user can read.
public final class SessionRecorder: AppLinkDelegate {
  private let file: FileHandle
  private let state = Mutex(State())
  private let events: AsyncStream<Event>
  private let continuation: AsyncStream<Event>.Continuation

  private struct State {
    var count = 0
    var error: (any Error)?
    var hasEnded = false
  }

  /// A change that a recorder reports.
  public enum Event: Sendable {
    /// The link has connected to the app.
    case connected(Hello)
    /// The connection has ended or cannot be made, for this reason.
    case disconnected(String)
    /// A line could not be written, for example because the disk is full. The recorder writes no
    /// further line.
    case failed(String)
  }

  /// Creates a recorder and its file, with mode 0600.
  ///
  /// - Parameter path: The path of the file. An existing file is replaced; a symbolic link is
  ///   refused.
  /// - Throws: `LinkError` if the file cannot be written.
  public init(path: String) throws(LinkError) {
    file = try Self.makeFile(at: path)
    (events, continuation) = AsyncStream.makeStream()
  }

  /// Makes an empty file with mode 0600.
  ///
  /// - Parameter path: The path of the file. An existing file is replaced; a symbolic link is
  ///   refused.
  public static func makeFile(at path: String) throws(LinkError) -> FileHandle {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw LinkError("cannot write \(path): \(String(cString: strerror(errno)))") }
    var status = stat()
    // A device, such as `/dev/null`, keeps its mode.
    if fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG { fchmod(descriptor, 0o600) }
    return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
  }

  /// The changes that the recorder reports, for one `for await` loop.
  public var happenings: AsyncStream<Event> { events }

  /// The number of updates that were written.
  public var count: Int { state.withLock { $0.count } }

  public func connected(_ session: AppSession) {
    write(#"{"inspection":1,"hello":\#(String(decoding: session.hello.slice.bytes, as: UTF8.self))}"#, isUpdate: false)
    continuation.yield(.connected(session.hello))
  }

  public func updated(_ update: [String: JSONSlice], _ line: JSONSlice) {
    write(String(decoding: line.bytes, as: UTF8.self), isUpdate: true)
  }

  public func disconnected(_ reason: String) { continuation.yield(.disconnected(reason)) }

  /// Writes the last line, and waits until the file is on the disk. Later updates are left out.
  ///
  /// - Throws: The first error of a write.
  public func end() throws {
    defer { continuation.finish() }
    try state.withLock { state in
      if let error = state.error { throw error }
      if state.hasEnded { return }
      state.hasEnded = true
      do {
        try file.write(contentsOf: Data((#"{"end":true,"count":\#(state.count)}"# + "\n").utf8))
        try file.synchronize()
      } catch {
        state.error = error
        throw error
      }
    }
  }

  private func write(_ line: String, isUpdate: Bool) {
    let error: (any Error)? = state.withLock { state in
      guard state.error == nil, !state.hasEnded else { return nil }
      do {
        try file.write(contentsOf: Data((line + "\n").utf8))
        if isUpdate { state.count += 1 }
      } catch { state.error = error }
      return state.error
    }
    if let error { continuation.yield(.failed("\(error)")) }
  }
}
