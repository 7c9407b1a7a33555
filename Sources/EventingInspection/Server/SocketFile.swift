import Eventing

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

struct SocketFile: Sendable {
  let path: String
  let descriptor: Int32
  /// The server removes only its own file.
  private let identity: Identity

  /// The inode of a removed file may be used again, so the time at which it last changed is a part.
  private struct Identity: Equatable {
    let (device, inode, seconds, nanoseconds): (UInt64, UInt64, Int, Int)

    init(_ file: stat) {
      #if canImport(Darwin)
        let time = file.st_ctimespec
      #else
        let time = file.st_ctim
      #endif
      device = UInt64(truncatingIfNeeded: file.st_dev)
      inode = UInt64(truncatingIfNeeded: file.st_ino)
      (seconds, nanoseconds) = (Int(time.tv_sec), Int(time.tv_nsec))
    }
  }

  /// The file has mode 0600. In the path, `%p` stands for the number of the process.
  init(_ given: String) throws(InspectionError) {
    let path = given.replacing("%p", with: "\(getpid())")
    try SocketFile.checkFolder(of: path)
    let address = try SocketFile.address(path)
    try SocketFile.removeStale(path, address)
    let descriptor = try SocketFile.makeSocket()
    do {
      fchmod(descriptor, 0o600)  // on Linux the file gets this mode
      guard unsafe SocketFile.withAddress(address, { unsafe bind(descriptor, $0, $1) }) == 0 else {
        let code: InspectionError.Code = errno == EADDRINUSE ? .pathTaken : .system
        throw InspectionError(code, "cannot bind \(path): \(SocketFile.lastError)")
      }
      // No client can connect before `listen`.
      guard unsafe chmod(path, 0o600) == 0, let file = SocketFile.status(path),
        SocketFile.isSocket(file), file.st_uid == geteuid(), file.st_mode & 0o777 == 0o600
      else {
        unsafe unlink(path)
        throw InspectionError(.system, "expected a socket of mode 0600 at \(path)")
      }
      guard listen(descriptor, 16) == 0 else {
        unsafe unlink(path)
        throw InspectionError(.system, "cannot listen at \(path): \(SocketFile.lastError)")
      }
      self.path = path
      self.descriptor = descriptor
      identity = Identity(file)
    } catch {
      close(descriptor)
      throw error as? InspectionError ?? InspectionError(.system, "\(error)")
    }
  }

  /// Removes the file only if this socket made it.
  func remove() {
    if SocketFile.status(path).map(Identity.init) == identity { unsafe unlink(path) }
  }

  /// Called if no server takes over the socket.
  func discard() {
    remove()
    close(descriptor)
  }

  // MARK: Checks

  private static var longest: Int { min(107, MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1) }

  private static var lastError: String { unsafe String(cString: strerror(errno)) }

  private static func status(_ path: String) -> stat? {
    var status = stat()
    return unsafe lstat(path, &status) == 0 ? status : nil
  }

  private static func kind(_ file: stat) -> mode_t { file.st_mode & S_IFMT }
  private static func isSocket(_ file: stat) -> Bool { kind(file) == S_IFSOCK }

  /// No other user may exchange the file: the folder must be sticky, or the user's own and writable
  /// for no other user.
  private static func checkFolder(of path: String) throws(InspectionError) {
    guard !path.isEmpty, !path.utf8.contains(0), path.utf8.count <= longest, path.last != "/" else {
      throw InspectionError(.badPath, "expected a path of 1 to \(longest) bytes, got \"\(path)\"")
    }
    let slash = path.lastIndex(of: "/")
    let folder = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    guard var file = status(folder) else { throw InspectionError(.badPath, "there is no folder \(folder)") }
    if kind(file) == S_IFLNK {
      #if canImport(Darwin)
        // On Apple's systems /tmp is a symbolic link. It belongs to root, so no other user can
        // exchange it.
        var target = stat()
        guard file.st_uid == 0, unsafe stat(folder, &target) == 0 else {
          throw InspectionError(.link, "the folder \(folder) is a link")
        }
        file = target
      #else
        throw InspectionError(.link, "the folder \(folder) is a link")
      #endif
    }
    guard kind(file) == S_IFDIR else { throw InspectionError(.badPath, "\(folder) is no folder") }
    if file.st_mode & S_ISVTX != 0 { return }
    guard file.st_uid == geteuid() else {
      throw InspectionError(.foreignOwner, "the folder \(folder) belongs to another user, and is not sticky")
    }
    guard file.st_mode & 0o022 == 0 else {
      throw InspectionError(.badPath, "other users can write to the folder \(folder), and it is not sticky")
    }
  }

  /// Removes a socket of the user on which no program listens any more, and refuses anything else.
  private static func removeStale(_ path: String, _ address: sockaddr_un) throws(InspectionError) {
    guard let file = status(path) else { return }
    if kind(file) == S_IFLNK { throw InspectionError(.link, "\(path) is a link") }
    if file.st_uid != geteuid() { throw InspectionError(.foreignOwner, "\(path) belongs to another user") }
    if !isSocket(file) { throw InspectionError(.pathTaken, "there is a file at \(path)") }
    let probe = try makeSocket()
    defer { close(probe) }
    let isRefused = unsafe withAddress(address) { unsafe connect(probe, $0, $1) } != 0 && errno == ECONNREFUSED
    guard isRefused else { throw InspectionError(.pathTaken, "a program listens at \(path)") }
    unsafe unlink(path)
  }

  // MARK: Sockets

  private static func makeSocket() throws(InspectionError) -> Int32 {
    #if canImport(Glibc)
      let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    #else
      let descriptor = socket(AF_UNIX, SOCK_STREAM, 0)
    #endif
    guard descriptor >= 0 else { throw InspectionError(.system, "cannot make a socket: \(lastError)") }
    Descriptors.prepare(descriptor)
    return descriptor
  }

  private static func address(_ path: String) throws(InspectionError) -> sockaddr_un {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    #if canImport(Darwin)
      address.sun_len = UInt8(MemoryLayout<sockaddr_un>.size)
    #endif
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { bytes in
      for (index, byte) in path.utf8.enumerated() { unsafe bytes[index] = byte }
    }
    return address
  }

  private static func withAddress(
    _ address: sockaddr_un, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
  ) -> Int32 {
    unsafe withUnsafePointer(to: address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
  }
}
