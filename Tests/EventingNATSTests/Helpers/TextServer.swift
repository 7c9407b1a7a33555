#if NATS
  import Eventing
  import Foundation
  import Testing

  /// A TCP server that sends a text to each connection, keeps what comes, and says little else.
  final class TextServer: Sendable {
    private struct State: Sendable {
      var received: [UInt8] = []
      var open: Set<Int32> = []
      var accepted = 0
    }

    private let listener: Int32
    private let state = Guarded(State())
    let port: Int

    /// The first line of a nats-server.
    ///
    /// - Parameter more: Further members of the JSON object, each with a comma in front.
    static func info(_ more: String = "") -> String {
      #"INFO {"server_id":"A","version":"2.9.10","proto":1,"headers":true,"max_payload":1048576\#(more)}"# + "\r\n"
    }

    /// Starts a server on a free port of the loopback interface.
    ///
    /// - Parameters:
    ///   - first: The text that each connection gets.
    ///   - pongs: The number of answers to `PING` in all connections.
    ///   - answer: The answer to `PING`.
    init(_ first: String, pongs: Int = 0, answer: String = "PONG\r\n") throws {
      listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
      var size = socklen_t(MemoryLayout<sockaddr_in>.size)
      let (listener, state) = (listener, state)
      let result = unsafe withUnsafeMutablePointer(to: &address) { pointer in
        unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
          unsafe bind(listener, pointer, size) == 0 && listen(listener, 16) == 0
            ? getsockname(listener, pointer, &size) : -1
        }
      }
      try #require(result == 0, "expected a free port")
      port = Int(UInt16(bigEndian: address.sin_port))
      let left = Guarded(pongs)
      Foundation.Thread.detachNewThread {
        while true {
          let connection = accept(listener, nil, nil)
          guard connection >= 0 else { return }
          state.withLock { state in
            state.open.insert(connection)
            state.accepted += 1
          }
          TextServer.send(first, connection)
          Foundation.Thread.detachNewThread { TextServer.serve(connection, state, left, answer) }
        }
      }
    }

    deinit {
      shutdown(listener, Int32(SHUT_RDWR))
      close(listener)
      state.withLock { for connection in $0.open { shutdown(connection, Int32(SHUT_RDWR)) } }
    }

    /// All that has come.
    var received: String { state.withLock { String(decoding: $0.received, as: UTF8.self) } }
    /// Whether every connection has closed, and there was at least one.
    var isLeft: Bool { state.withLock { $0.accepted > 0 && $0.open.isEmpty } }

    /// Sends a text to all connections.
    func say(_ text: String) {
      for connection in state.withLock({ $0.open }) { TextServer.send(text, connection) }
    }

    private static func serve(
      _ connection: Int32, _ state: Guarded<State>, _ pongs: Guarded<Int>, _ answer: String
    ) {
      var bytes = [UInt8](repeating: 0, count: 4_096)
      while true {
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe read(connection, $0.baseAddress, $0.count) }
        guard count > 0 else { break }
        state.withLock { $0.received += bytes[..<count] }
        guard String(decoding: bytes[..<count], as: UTF8.self).contains("PING\r\n") else { continue }
        let mustAnswer = pongs.withLock { left in
          left -= 1
          return left >= 0
        }
        if mustAnswer { send(answer, connection) }
      }
      state.withLock { _ = $0.open.remove(connection) }
      close(connection)
    }

    private static func send(_ text: String, _ connection: Int32) {
      let bytes = Array(text.utf8)
      _ = unsafe bytes.withUnsafeBytes {
        unsafe Foundation.send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
    }
  }
#endif
