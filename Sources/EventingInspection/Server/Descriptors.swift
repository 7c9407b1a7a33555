import CEventingInspection

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// The calls never block, and raise no signal.
enum Descriptors {
  /// Calls do not block, and no child process inherits the descriptor.
  static func prepare(_ descriptor: Int32) {
    _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    #if canImport(Darwin)
      var on: Int32 = 1
      _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &on, socklen_t(MemoryLayout<Int32>.size))
    #endif
  }

  static func accept(_ listener: Int32) -> Int32? {
    let descriptor = systemAccept(listener)
    guard descriptor >= 0 else { return nil }
    prepare(descriptor)
    return descriptor
  }

  /// The peer must be a process of the user or of root.
  static func isPeerAllowed(_ descriptor: Int32) -> Bool {
    var user: uid_t = 0
    guard unsafe eventing_inspection_peer(descriptor, &user) == 0 else { return false }
    return user == geteuid() || user == 0
  }

  enum Result {
    case bytes(Int)
    case wouldBlock
    case closed
  }

  static func read(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer) -> Result {
    result(unsafe recv(descriptor, buffer.baseAddress, buffer.count, 0), isRead: true)
  }

  static func write(_ descriptor: Int32, _ bytes: ArraySlice<UInt8>) -> Result {
    #if canImport(Darwin)
      let flags: Int32 = 0
    #else
      let flags = Int32(MSG_NOSIGNAL)
    #endif
    return result(
      unsafe bytes.withUnsafeBytes { unsafe send(descriptor, $0.baseAddress, $0.count, flags) }, isRead: false)
  }

  private static func result(_ count: Int, isRead: Bool) -> Result {
    if count > 0 { return .bytes(count) }
    if count == 0 { return isRead ? .closed : .wouldBlock }
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? .wouldBlock : .closed
  }

  /// Other threads wake the server's thread by it.
  static func makePipe() throws(InspectionError) -> (read: Int32, write: Int32) {
    var ends: [Int32] = [0, 0]
    guard unsafe pipe(&ends) == 0 else { throw InspectionError(.system, "cannot make a pipe") }
    for end in ends { prepare(end) }
    return (ends[0], ends[1])
  }
}

/// Inside the type above, `accept` would call its own method.
private func systemAccept(_ listener: Int32) -> Int32 { accept(listener, nil, nil) }
