import Foundation

/// A Unix socket that carries lines. Only one thread may read. Any thread may write.
public final class LineSocket: Sendable {
  private let descriptor: Int32
  private let writing = NSLock()
  /// The number of bytes without a line end above which `read` throws.
  public static let longest = 4 << 20

  /// Connects to a socket.
  ///
  /// - Parameter path: The path of the socket, at most 107 bytes on Linux and 103 on Apple's
  ///   systems.
  /// - Throws: `LinkError` if the path is too long, if nothing listens there, or if the socket
  ///   belongs neither to this user nor to root. If this user is root, any owner is accepted.
  public init(path: String) throws(LinkError) {
    var status = stat()
    guard lstat(path, &status) == 0 else { throw LinkError("there is no \(path)") }
    guard status.st_mode & S_IFMT == S_IFSOCK else { throw LinkError("\(path) is no socket") }
    guard [0, geteuid()].contains(status.st_uid) || geteuid() == 0 else {
      throw LinkError("\(path) belongs to another user")
    }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let room = MemoryLayout.size(ofValue: address.sun_path)
    guard path.utf8.count < room else { throw LinkError("\(path) is longer than \(room - 1) bytes") }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    #if canImport(Glibc)
      descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    #else
      descriptor = socket(AF_UNIX, SOCK_STREAM, 0)
    #endif
    let connected = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard connected == 0 else {
      let reason = String(cString: strerror(errno))
      close(descriptor)
      throw LinkError("nothing listens at \(path): \(reason)")
    }
    limitWriting(to: 5)
  }

  /// Takes over the descriptor of a connected socket. The `deinit` closes it.
  public init(connected descriptor: Int32) {
    self.descriptor = descriptor
    limitWriting(to: 5)
  }

  deinit { close(descriptor) }

  private func limitWriting(to seconds: Int) {
    var limit = timeval(tv_sec: seconds, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
  }

  /// Sets the time after which `read` returns `nil` if no bytes arrive.
  ///
  /// - Parameter seconds: The time in seconds; 0 for no limit.
  public func limitReading(to seconds: Int) {
    var limit = timeval(tv_sec: seconds, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
  }

  /// Waits for the next line and reads it.
  ///
  /// - Parameter buffer: The bytes that earlier calls read beyond their lines. The caller passes
  ///   the same buffer each time.
  /// - Returns: The line without its end; `nil` at the end of the stream, or after the time limit.
  /// - Throws: `LinkError` if more than `longest` bytes have no line end.
  public func read(_ buffer: inout LineBuffer) throws(LinkError) -> [UInt8]? {
    var chunk = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      if let line = buffer.next() { return line }
      guard buffer.count <= Self.longest else { throw LinkError("a line has more than \(Self.longest) bytes") }
      let count = recv(descriptor, &chunk, chunk.count, 0)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return nil }
      buffer.append(chunk[..<count])
    }
  }

  /// Writes a line, with its end.
  ///
  /// - Throws: `LinkError` if the other side has gone, or takes nothing for 5 s.
  public func write(_ line: String) throws(LinkError) {
    writing.lock()
    defer { writing.unlock() }
    var rest = Array((line + "\n").utf8)[...]
    while !rest.isEmpty {
      #if canImport(Glibc)
        let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      #else
        let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, 0) }
      #endif
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw LinkError("the app does not read: \(String(cString: strerror(errno)))") }
      rest = rest.dropFirst(count)
    }
  }

  /// Ends the stream in both directions. A thread that reads returns. Callable from any thread.
  public func end() { shutdown(descriptor, Int32(SHUT_RDWR)) }
}

/// The bytes of a stream of lines that were read, and that `next` has not returned yet.
public struct LineBuffer: Sendable {
  private var bytes: [UInt8] = []
  /// The number of bytes, from the start of `bytes`, that `next` has finished with: it has returned
  /// their lines, or skipped them as empty.
  private var taken = 0
  /// The number of bytes, from the start of `bytes`, that were searched for the end of a line.
  private var searched = 0

  public init() {}

  /// The number of bytes that `next` has not returned or skipped.
  public var count: Int { bytes.count - taken }

  /// Adds bytes that were read from the stream.
  public mutating func append(_ chunk: ArraySlice<UInt8>) {
    if taken > 0 {
      bytes.removeFirst(taken)
      (searched, taken) = (searched - taken, 0)
    }
    bytes += chunk
  }

  /// Removes and returns the next line that is not empty, without its end; `nil` if there is no
  /// complete line.
  public mutating func next() -> [UInt8]? {
    while let end = bytes[searched...].firstIndex(of: UInt8(ascii: "\n")) {
      var line = bytes[taken..<end]
      (taken, searched) = (end + 1, end + 1)
      if line.last == UInt8(ascii: "\r") { line.removeLast() }
      if !line.isEmpty { return Array(line) }
    }
    searched = bytes.count
    return nil
  }
}

/// A failure between the inspector and the app.
public struct LinkError: Error, CustomStringConvertible, Equatable {
  /// The error code of the inspection protocol, such as `busy`; `nil` if the failure has none.
  public let code: String?
  /// A sentence that says what failed.
  public let description: String

  /// Makes an error.
  public init(_ description: String, code: String? = nil) { (self.description, self.code) = (description, code) }
}
