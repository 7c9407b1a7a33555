import Foundation

/// Functions on the file descriptors of sockets.
enum Descriptor {
  /// Makes a stream socket.
  static func stream(_ family: Int32) -> Int32 {
    #if canImport(Glibc)
      socket(family, Int32(SOCK_STREAM.rawValue), 0)
    #else
      socket(family, SOCK_STREAM, 0)
    #endif
  }

  /// Sets the seconds after which a read (`SO_RCVTIMEO`) or a write (`SO_SNDTIMEO`) fails.
  static func limit(_ descriptor: Int32, _ option: Int32, seconds: Int) {
    var time = timeval(tv_sec: seconds, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, option, &time, socklen_t(MemoryLayout<timeval>.size))
  }

  /// Connects to a Unix socket; returns a negative number if nothing listens.
  static func connect(path: String) -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    guard path.utf8.count < MemoryLayout.size(ofValue: address.sun_path) else { return -1 }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    return connect(stream(AF_UNIX), &address)
  }

  /// Connects to a port of this machine; returns a negative number if nothing listens.
  static func connect(loopback port: UInt16) -> Int32 {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    return connect(stream(AF_INET), &address)
  }

  private static func connect<Address>(_ descriptor: Int32, _ address: inout Address) -> Int32 {
    let length = socklen_t(MemoryLayout<Address>.size)
    let connected = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { Foundation.connect(descriptor, $0, length) == 0 }
    }
    if connected { return descriptor }
    close(descriptor)
    return -1
  }

  /// Writes all bytes. Returns false if an error ends the writing earlier.
  static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      #if canImport(Glibc)
        let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      #else
        let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, 0) }
      #endif
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }

  /// Copies bytes until the source ends or the target takes no more.
  static func copy(from source: Int32, to target: Int32) {
    var chunk = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = recv(source, &chunk, chunk.count, 0)
      if count < 0, errno == EINTR { continue }
      guard count > 0, write(Array(chunk[..<count]), to: target) else { return }
    }
  }
}
