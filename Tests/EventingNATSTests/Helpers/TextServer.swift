#if NATS
  import Eventing
  import Foundation
  import Testing

  /// A TCP server that sends a text to each connection, records what it receives, and answers some
  /// `PING`s.
  final class TextServer: Sendable {
    private struct State: Sendable {
      var received: [UInt8] = []
      var open: [ObjectIdentifier: LoopbackSocket] = [:]
      var accepted = 0
    }

    private let listener: LoopbackSocket
    private let state = Guarded(State())
    var port: Int { listener.port }

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
    ///   - pongs: The maximum number of answers to `PING`, over all connections.
    ///   - answer: Returns the answer to a `PING`, by its number over all connections, from 1.
    init(_ first: String, pongs: Int = 0, answer: @escaping @Sendable (Int) -> String = { _ in "PONG\r\n" }) throws {
      listener = try LoopbackSocket()
      listen(listener.descriptor, 16)
      let pings = Guarded(0)
      Foundation.Thread.detachNewThread { [listener, state] in
        while let connection = listener.accepted() {
          state.withLock { state in
            state.open[ObjectIdentifier(connection)] = connection
            state.accepted += 1
          }
          connection.send(Array(first.utf8)[...])
          Foundation.Thread.detachNewThread { TextServer.serve(connection, state, pings, pongs, answer) }
        }
      }
    }

    deinit {
      listener.end()
      for connection in state.withLock({ $0.open.values.map(\.self) }) { connection.end() }
    }

    /// The text that the server has received over all connections.
    var received: String { state.withLock { String(decoding: $0.received, as: UTF8.self) } }
    /// Whether every connection has closed, and there was at least one.
    var isLeft: Bool { state.withLock { $0.accepted > 0 && $0.open.isEmpty } }

    /// Sends a text to all connections.
    func say(_ text: String) {
      for connection in state.withLock({ $0.open.values.map(\.self) }) { connection.send(Array(text.utf8)[...]) }
    }

    private static func serve(
      _ connection: LoopbackSocket, _ state: Guarded<State>, _ pings: Guarded<Int>, _ pongs: Int,
      _ answer: @Sendable (Int) -> String
    ) {
      var rest = ""  // the begin of a `PING` that came in two parts
      while true {
        let bytes = connection.receive()
        guard !bytes.isEmpty else { break }
        state.withLock { $0.received += bytes }
        let parts = (rest + String(decoding: bytes, as: UTF8.self)).components(separatedBy: "PING\r\n")
        rest = String((parts.last ?? "").unicodeScalars.suffix(5))
        for _ in parts.dropFirst() {
          let number = pings.withLock { pings in
            pings += 1
            return pings
          }
          if number <= pongs { connection.send(Array(answer(number).utf8)[...]) }
        }
      }
      state.withLock { _ = $0.open.removeValue(forKey: ObjectIdentifier(connection)) }
    }
  }
#endif
