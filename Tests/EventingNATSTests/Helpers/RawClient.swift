#if NATS
  import Foundation
  import Testing

  /// A client that writes the protocol of NATS by hand, with any bytes.
  struct RawClient {
    private let socket: LoopbackSocket

    /// Connects to a port. Returns when the server has answered.
    init(_ port: Int) throws {
      socket = try LoopbackSocket(to: port)
      write("CONNECT {\"verbose\":false,\"headers\":true,\"no_responders\":true}\r\n")
      try flush()
    }

    /// Publishes a message whose block of headers need not be valid.
    ///
    /// - Parameters:
    ///   - subject: The subject.
    ///   - reply: The subject for the reply.
    ///   - block: All bytes in front of the body.
    ///   - body: The body.
    func publish(_ subject: String, reply: String = "", block: [UInt8], body: [UInt8]) {
      write("HPUB \(subject) \(reply) \(block.count) \(block.count + body.count)\r\n")
      socket.send((block + body + Array("\r\n".utf8))[...])
    }

    /// Publishes a message without headers, whose subject need not be a text.
    func publish(_ subject: [UInt8], body: [UInt8]) {
      socket.send((Array("PUB ".utf8) + subject + Array(" \(body.count)\r\n".utf8) + body + Array("\r\n".utf8))[...])
    }

    /// Publishes a message, with a block of headers as text.
    func publish(_ subject: String, reply: String = "", block: String, body: String) {
      publish(subject, reply: reply, block: Array(block.utf8), body: Array(body.utf8))
    }

    /// Waits until the server has received everything.
    func flush() throws {
      write("PING\r\n")
      var text = ""
      while !text.contains("PONG\r\n") {
        let bytes = socket.receive()
        text += String(decoding: bytes, as: UTF8.self)
        try #require(!bytes.isEmpty && !text.contains("-ERR"), "expected PONG, got \(text.suffix(200))")
      }
    }

    private func write(_ text: String) { socket.send(Array(text.utf8)[...]) }
  }
#endif
