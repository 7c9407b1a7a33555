import Foundation
import Synchronization

/// Listens on loopback, and passes only complete requests of limited size to FlyingFox.
///
/// FlyingFox reads lines of any length. So FlyingFox listens only on a Unix socket, in a folder
/// that only this user can enter, and the gate connects to that socket. A connection has two
/// threads, one for each direction. A request that is too long, too slow or not plain HTTP/1.1 is
/// refused before FlyingFox sees a byte of it.
final class Gate: Sendable {
  /// The port that the gate listens on.
  let port: UInt16
  private let listener: Int32
  private let upstream: String
  private let open = Mutex(0)
  private let ended = Mutex(false)
  /// The largest number of connections at a time.
  static let most = 64

  /// Starts to listen. Connections wait until `start`.
  ///
  /// - Parameters:
  ///   - port: The port; 0 for any that is free.
  ///   - upstream: The path of FlyingFox's socket.
  init(port: UInt16, upstream: String) throws {
    self.upstream = upstream
    listener = Descriptor.stream(AF_INET)
    var (yes, address) = (Int32(1), sockaddr_in())
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let descriptor = listener
    let bound = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, length) == 0 && listen(descriptor, 16) == 0 && getsockname(descriptor, $0, &length) == 0
      }
    }
    guard bound else {
      let reason = String(cString: strerror(errno))
      close(descriptor)
      throw PageError("no page at port \(port): \(reason)")
    }
    self.port = UInt16(bigEndian: address.sin_port)
  }

  /// Starts the thread that accepts connections.
  func start() {
    Thread.detachNewThread { [self] in
      while true {
        let client = accept(listener, nil, nil)
        if ended.withLock({ $0 }) { break }
        guard client >= 0 else {
          if errno == EINTR || errno == ECONNABORTED { continue }
          usleep(10_000)  // No descriptor is free. Tries again when a connection may have ended.
          continue
        }
        let isRoom = open.withLock { open in
          guard open < Self.most else { return false }
          open += 1
          return true
        }
        guard isRoom else {
          close(client)
          continue
        }
        Thread.detachNewThread {
          self.serve(client)
          self.open.withLock { $0 -= 1 }
        }
      }
      close(listener)
    }
  }

  /// Stops accepting connections. Open connections end when FlyingFox closes them.
  func end() {
    ended.withLock { $0 = true }
    shutdown(listener, Int32(SHUT_RDWR))
    // On systems where `shutdown` does not wake a thread in `accept`, a connection wakes it.
    let knock = Descriptor.connect(loopback: port)
    if knock >= 0 { close(knock) }
  }

  private func serve(_ client: Int32) {
    Descriptor.limit(client, SO_SNDTIMEO, seconds: 10)
    let server = Descriptor.connect(path: upstream)
    guard server >= 0 else {
      close(client)
      return
    }
    let done = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      Descriptor.copy(from: server, to: client)
      shutdown(client, Int32(SHUT_RDWR))
      done.signal()
    }
    var reader = RequestReader(client)
    var first = true
    do {
      while let request = try reader.next() {
        guard Descriptor.write(request, to: server) else { break }
        first = false
      }
    } catch {
      if first { _ = Descriptor.write(error.response, to: client) }
    }
    shutdown(client, Int32(SHUT_RD))
    shutdown(server, Int32(SHUT_RDWR))
    done.wait()
    close(server)
    close(client)
  }
}

/// An error of the page's server, as a sentence.
public struct PageError: Error, CustomStringConvertible {
  public let description: String

  init(_ description: String) { self.description = description }
}
