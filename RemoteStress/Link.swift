#if NATS
  import Eventing
  import Foundation

  /// A TCP proxy between one process and the broker. Each direction can be cut.
  ///
  /// While a direction is cut, its bytes wait in the proxy, so no NATS client can complete a new
  /// connection. At the end of the cut, the proxy delivers the waiting bytes, as TCP does after a
  /// short partition, or ends the connections, which loses the bytes.
  final class Link: Sendable {
    enum Direction: CaseIterable { case toBroker, fromBroker }

    /// A connection of the process and the matching connection to the broker. Both are closed when
    /// the last reference to the pair is released.
    private final class Pair: Sendable {
      let process: Int32
      let broker: Int32
      let isOver = Guarded(false)

      init(_ process: Int32, _ broker: Int32) { (self.process, self.broker) = (process, broker) }

      deinit { for descriptor in [process, broker] { close(descriptor) } }

      func end() {
        isOver.withLock { $0 = true }
        for descriptor in [process, broker] { shutdown(descriptor, Int32(SHUT_RDWR)) }
      }
    }

    private struct State {
      var cut: Set<Direction> = []
      var pairs: [ObjectIdentifier: Pair] = [:]
    }

    let port: Int
    private let broker: Int
    private let listener: Int32
    private let state = Guarded(State())

    /// Listens on a free port of the loopback interface until the program ends.
    ///
    /// - Parameter broker: The port of the broker.
    init(to broker: Int) throws {
      self.broker = broker
      (listener, port) = try Sockets.listen()
      Foundation.Thread.detachNewThread { [self] in
        while true {
          let process = accept(listener, nil, nil)
          if process >= 0 { serve(process) }
        }
      }
    }

    func cut(_ directions: Set<Direction>) { state.withLock { $0.cut = directions } }

    /// Lets bytes pass in both directions again, after ``cut(_:)``.
    ///
    /// - Parameter isReset: Whether to end the connections, which loses the waiting bytes.
    func heal(isReset: Bool) {
      let pairs = state.withLock { isReset ? Array($0.pairs.values) : [] }
      for pair in pairs { pair.end() }
      state.withLock { $0.cut = [] }
    }

    private func serve(_ process: Int32) {
      guard let descriptor = Sockets.connect(broker) else {
        close(process)
        return
      }
      let pair = Pair(process, descriptor)
      state.withLock { $0.pairs[ObjectIdentifier(pair)] = pair }
      Foundation.Thread.detachNewThread { self.pump(pair, .toBroker) }
      Foundation.Thread.detachNewThread { self.pump(pair, .fromBroker) }
    }

    private func pump(_ pair: Pair, _ direction: Direction) {
      let (source, target) = direction == .toBroker ? (pair.process, pair.broker) : (pair.broker, pair.process)
      var bytes = [UInt8](repeating: 0, count: 65_536)
      while true {
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe read(source, $0.baseAddress, $0.count) }
        while state.withLock({ $0.cut.contains(direction) }), !pair.isOver.withLock({ $0 }) { usleep(2_000) }
        guard count > 0, !pair.isOver.withLock({ $0 }), Sockets.send(bytes[..<count], target) else { break }
      }
      pair.end()
      state.withLock { _ = $0.pairs.removeValue(forKey: ObjectIdentifier(pair)) }
    }
  }

  /// TCP over the loopback interface.
  enum Sockets {
    /// Returns a socket that listens on a free port, and the port.
    static func listen() throws -> (descriptor: Int32, port: Int) {
      let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
      var address = loopback(0)
      var size = socklen_t(MemoryLayout<sockaddr_in>.size)
      let result = unsafe withUnsafeMutablePointer(to: &address) { pointer in
        unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
          unsafe bind(descriptor, pointer, size) == 0 && Foundation.listen(descriptor, 16) == 0
            ? getsockname(descriptor, pointer, &size) : -1
        }
      }
      guard result == 0 else { throw Refusal("expected a free port on the loopback interface") }
      return (descriptor, Int(UInt16(bigEndian: address.sin_port)))
    }

    /// Returns a free port.
    static func freePort() throws -> Int {
      let (descriptor, port) = try listen()
      close(descriptor)
      return port
    }

    /// Returns a socket that is connected to a port; `nil` if no process listens there.
    static func connect(_ port: Int) -> Int32? {
      let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
      var address = loopback(port)
      let result = unsafe withUnsafePointer(to: &address) { pointer in
        unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
          unsafe Foundation.connect(descriptor, pointer, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
      if result == 0 { return descriptor }
      close(descriptor)
      return nil
    }

    /// Sends all bytes. Returns false if the other side has closed the connection.
    static func send(_ bytes: ArraySlice<UInt8>, _ descriptor: Int32) -> Bool {
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

    private static func loopback(_ port: Int) -> sockaddr_in {
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = UInt16(port).bigEndian
      address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
      return address
    }
  }
#endif
