// The declarations of Darwin that EventingInspection uses, for files, sockets and errors, as Swift
// imports them from Apple's headers.

public typealias uid_t = UInt32
public typealias mode_t = UInt16
public typealias nfds_t = UInt32
public typealias pid_t = Int32
public typealias socklen_t = UInt32
public typealias sa_family_t = UInt8

public struct stat {
  public var st_dev: Int32 = 0
  public var st_mode: mode_t = 0
  public var st_ino: UInt64 = 0
  public var st_uid: uid_t = 0
  public var st_ctimespec = timespec()
  public init() {}
}
public struct sockaddr {
  public var sa_len: UInt8 = 0
  public var sa_family: sa_family_t = 0
  public init() {}
}
public struct sockaddr_un {
  public var sun_len: UInt8 = 0
  public var sun_family: sa_family_t = 0
  // In Apple's C header, `sun_path` is an array of 104 characters. The 13 integers here have 104
  // bytes, too. EventingInspection uses only the size and the bytes of `sun_path`.
  public var sun_path:
    (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) =
      (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
  public init() {}
}
public struct pollfd {
  public var fd: Int32
  public var events: Int16
  public var revents: Int16
  public init(fd: Int32, events: Int16, revents: Int16) { (self.fd, self.events, self.revents) = (fd, events, revents) }
}

public var errno: Int32 {
  get { fatalError("a stub") }
  set { fatalError("a stub") }
}
public let EINTR: Int32 = 4
public let ENOMEM: Int32 = 12
public let ENFILE: Int32 = 23
public let EMFILE: Int32 = 24
public let EAGAIN: Int32 = 35
public let EWOULDBLOCK: Int32 = 35
public let EADDRINUSE: Int32 = 48
public let ENOBUFS: Int32 = 55
public let ECONNREFUSED: Int32 = 61

public let S_IFMT: mode_t = 0o170000
public let S_IFDIR: mode_t = 0o040000
public let S_IFREG: mode_t = 0o100000
public let S_IFLNK: mode_t = 0o120000
public let S_IFSOCK: mode_t = 0o140000
public let S_ISVTX: mode_t = 0o001000

public let F_SETFD: Int32 = 2
public let F_GETFL: Int32 = 3
public let F_SETFL: Int32 = 4
public let FD_CLOEXEC: Int32 = 1
public let O_WRONLY: Int32 = 0x1
public let O_NONBLOCK: Int32 = 0x4
public let O_APPEND: Int32 = 0x8
public let O_NOFOLLOW: Int32 = 0x100
public let O_CREAT: Int32 = 0x200
public let O_EXCL: Int32 = 0x800
public let O_CLOEXEC: Int32 = 0x100_0000

public let AF_UNIX: Int32 = 1
public let SOCK_STREAM: Int32 = 1
public let SOL_SOCKET: Int32 = 0xFFFF
public let SO_NOSIGPIPE: Int32 = 0x1022
public let POLLIN: Int32 = 0x1
public let POLLOUT: Int32 = 0x4
public let POLLERR: Int32 = 0x8
public let POLLHUP: Int32 = 0x10

// Swift gives each function that it imports from C a discardable result, so the stubs have one,
// too.
@discardableResult public func fcntl(_ file: Int32, _ command: Int32) -> Int32 { fatalError("a stub") }
@discardableResult public func fcntl(_ file: Int32, _ command: Int32, _ value: Int32) -> Int32 { fatalError("a stub") }
@discardableResult public func open(_ path: UnsafePointer<CChar>, _ flags: Int32) -> Int32 { fatalError("a stub") }
@discardableResult public func open(_ path: UnsafePointer<CChar>, _ flags: Int32, _ mode: mode_t) -> Int32 {
  fatalError("a stub")
}
@discardableResult public func close(_ file: Int32) -> Int32 { fatalError("a stub") }
@discardableResult public func pipe(_ ends: UnsafeMutablePointer<Int32>!) -> Int32 { fatalError("a stub") }
@discardableResult public func poll(_ files: UnsafeMutablePointer<pollfd>!, _ count: nfds_t, _ time: Int32) -> Int32 {
  fatalError("a stub")
}
// Swift cannot declare a function `stat` beside the type `stat`. So the stub has the name `lstat`,
// and `check` replaces calls of `stat` by calls of `lstat`.
@discardableResult public func lstat(_ path: UnsafePointer<CChar>!, _ status: UnsafeMutablePointer<stat>!) -> Int32 {
  fatalError("a stub")
}
@discardableResult public func chmod(_ path: UnsafePointer<CChar>!, _ mode: mode_t) -> Int32 { fatalError("a stub") }
@discardableResult public func fchmod(_ file: Int32, _ mode: mode_t) -> Int32 { fatalError("a stub") }
@discardableResult public func unlink(_ path: UnsafePointer<CChar>!) -> Int32 { fatalError("a stub") }
@discardableResult public func rename(_ old: UnsafePointer<CChar>!, _ new: UnsafePointer<CChar>!) -> Int32 {
  fatalError("a stub")
}
@discardableResult public func read(_ descriptor: Int32, _ buffer: UnsafeMutableRawPointer!, _ count: Int) -> Int {
  fatalError("a stub")
}
@discardableResult public func socket(_ domain: Int32, _ type: Int32, _ protocol: Int32) -> Int32 {
  fatalError("a stub")
}
@discardableResult public func setsockopt(
  _ socket: Int32, _ level: Int32, _ name: Int32, _ value: UnsafeRawPointer!, _ length: socklen_t
) -> Int32 { fatalError("a stub") }
@discardableResult public func bind(
  _ socket: Int32, _ address: UnsafePointer<sockaddr>!, _ length: socklen_t
) -> Int32 { fatalError("a stub") }
@discardableResult public func connect(
  _ socket: Int32, _ address: UnsafePointer<sockaddr>!, _ length: socklen_t
) -> Int32 { fatalError("a stub") }
@discardableResult public func listen(_ socket: Int32, _ backlog: Int32) -> Int32 { fatalError("a stub") }
@discardableResult public func accept(
  _ socket: Int32, _ address: UnsafeMutablePointer<sockaddr>!, _ length: UnsafeMutablePointer<socklen_t>!
) -> Int32 { fatalError("a stub") }
@discardableResult public func recv(
  _ socket: Int32, _ bytes: UnsafeMutableRawPointer!, _ count: Int, _ flags: Int32
) -> Int { fatalError("a stub") }
@discardableResult public func send(
  _ socket: Int32, _ bytes: UnsafeRawPointer!, _ count: Int, _ flags: Int32
) -> Int { fatalError("a stub") }
@discardableResult public func strerror(_ error: Int32) -> UnsafeMutablePointer<CChar>! { fatalError("a stub") }
@discardableResult public func getpid() -> pid_t { fatalError("a stub") }
@discardableResult public func geteuid() -> uid_t { fatalError("a stub") }
