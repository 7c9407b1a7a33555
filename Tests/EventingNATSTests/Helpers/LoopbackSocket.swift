#if NATS
  import Foundation
  import Testing

  /// A TCP socket on a free port of the loopback interface. `deinit` closes it.
  final class LoopbackSocket: Sendable {
    /// The error if no process listens on a port. A ``Proxy`` ignores it, because its server may be
    /// down.
    struct Unreachable: Error { let port: Int }

    let descriptor: Int32
    let port: Int

    /// Creates a socket that is bound to a free port.
    init() throws {
      descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      var address = LoopbackSocket.address(0)
      var size = socklen_t(MemoryLayout<sockaddr_in>.size)
      let descriptor = descriptor
      let result = unsafe withUnsafeMutablePointer(to: &address) { pointer in
        unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
          unsafe bind(descriptor, pointer, size) == 0 ? getsockname(descriptor, pointer, &size) : -1
        }
      }
      port = Int(UInt16(bigEndian: address.sin_port))
      try #require(result == 0, "expected a free port")
    }

    /// Creates a socket that is connected to a port.
    init(to port: Int) throws {
      self.port = port
      descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      var address = LoopbackSocket.address(port)
      let descriptor = descriptor
      let result = unsafe withUnsafePointer(to: &address) { pointer in
        unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
          unsafe connect(descriptor, pointer, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
      guard result == 0 else { throw Unreachable(port: port) }
    }

    /// Creates the socket of a connection that was accepted.
    init(accepted descriptor: Int32, port: Int) { (self.descriptor, self.port) = (descriptor, port) }

    deinit { close(descriptor) }

    /// Ends the connection, or the wait in ``accepted()``, but keeps the descriptor.
    func end() { shutdown(descriptor, Int32(SHUT_RDWR)) }

    /// Waits for a connection. Returns `nil` after ``end()``.
    func accepted() -> LoopbackSocket? {
      let connection = accept(descriptor, nil, nil)
      return connection < 0 ? nil : LoopbackSocket(accepted: connection, port: port)
    }

    /// Sends bytes. Returns false if the other side has closed the connection.
    @discardableResult func send(_ bytes: ArraySlice<UInt8>) -> Bool {
      var rest = bytes
      while !rest.isEmpty {
        let count = unsafe rest.withUnsafeBytes {
          unsafe Foundation.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
        guard count > 0 else { return false }
        rest = rest.dropFirst(count)
      }
      return true
    }

    /// Waits for bytes. Returns an empty slice if the connection has ended.
    func receive() -> ArraySlice<UInt8> {
      var bytes = [UInt8](repeating: 0, count: 65_536)
      let count = unsafe bytes.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
      return bytes[..<max(0, count)]
    }

    private static func address(_ port: Int) -> sockaddr_in {
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = UInt16(port).bigEndian
      address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
      return address
    }
  }
#endif
