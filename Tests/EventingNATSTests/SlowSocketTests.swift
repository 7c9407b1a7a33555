#if NATS
  import Eventing
  @testable import EventingNATS
  import Foundation
  import Testing

  /// Messages that no socket takes in time, or that a closed connection does not send.
  @Suite(.serialized, .timeLimit(.minutes(1))) struct SlowSocketTests {
    /// Accepts connections on a listening socket, answers the first `PING` of each, and reads no
    /// more.
    private func serve(_ listener: LoopbackSocket, _ accepted: Guarded<[LoopbackSocket]>) {
      listen(listener.descriptor, 16)
      Foundation.Thread.detachNewThread {
        while let connection = listener.accepted() {
          accepted.withLock { $0.append(connection) }
          let info = #"INFO {"server_id":"A","version":"2.9.10","proto":1,"headers":true,"max_payload":67108864}"#
          connection.send(Array("\(info)\r\n".utf8)[...])
          var text = ""
          while !text.contains("PING\r\n") {
            let bytes = connection.receive()
            if bytes.isEmpty { break }
            text += String(decoding: bytes, as: UTF8.self)
          }
          connection.send(Array("PONG\r\n".utf8)[...])
        }
      }
    }

    @Test func aSocketThatTakesNoMessageInTimeIsTold() async throws {
      let (listener, accepted) = (try LoopbackSocket(), Guarded<[LoopbackSocket]>([]))
      serve(listener, accepted)
      defer { listener.end() }
      var options = try ConnectOptions(["nats://127.0.0.1:\(listener.port)"], nil, nil, within: .seconds(20))
      options.writeDeadline = .milliseconds(300)
      let made = options
      let connection = try await onOwnThread { try made.connect(ConnectionEvents(made.secrets)) }
      let sent = try await onOwnThread {
        connection.send(Outgoing(subject: "a", body: [UInt8](repeating: 1, count: 32 << 20)))
      }
      guard case .late(within: .milliseconds(300)) = sent else {
        Issue.record("expected a late message, got \(sent)")
        return
      }
      connection.close()
    }

    /// If no connection takes a message in time, the queue gives the message up after three tries.
    /// A message that is tried for ever would block all later ones, and each try would end a
    /// connection.
    @Test func aMessageThatNoConnectionTakesInTimeIsGivenUp() async throws {
      let writes = Guarded<[String]>([])
      let queue = SendQueue { message in
        writes.withLock { $0.append(message.subject) }
        return message.subject == "large" ? .late(within: .seconds(5)) : .sent
      }
      queue.pause()
      let ends = Guarded<[String?]>([])
      for subject in ["before", "large", "after"] {
        var message = Outgoing(subject: subject, body: [UInt8](repeating: 1, count: 1_000))
        message.isSent = { reason in ends.withLock { $0.append(reason) } }
        queue.send(message)
      }
      try await eventually("expected three ends, got \(ends.withLock { $0 })") {
        queue.resume()
        return ends.withLock { $0.count } == 3
      }
      #expect(writes.withLock { $0 } == ["before", "large", "large", "large", "after"])
      #expect(
        ends.withLock { $0 } == [nil, "expected a connection that takes 1040 bytes within 5.0 seconds; 3 did not", nil])
      queue.close()
    }

    /// Checks a connection that was closed, for example by the server, while its send queue is
    /// still open. The messages wait for another connection. When the queue is closed, they must
    /// end with the reason ``SendQueue/closedBefore``.
    /// The engine counts the plain messages with this reason, and posts one incident with their
    /// number. For a message that the socket does not take in time, the engine posts an incident of
    /// its own.
    @Test func aClosedConnectionFailsNoMessageByItself() async throws {
      let server = try TextServer(TextServer.info(), pongs: .max)
      let made = try ConnectOptions(["nats://127.0.0.1:\(server.port)"], nil, nil, within: .seconds(20))
      let connection = try await onOwnThread { try made.connect(ConnectionEvents(made.secrets)) }
      connection.close()
      let queue = SendQueue({ connection.send($0) })
      queue.pause()
      let ends = Guarded<[String?]>([])
      for subject in ["a", "b"] {
        var message = Outgoing(subject: subject)
        message.isSent = { reason in ends.withLock { $0.append(reason) } }
        queue.send(message)
      }
      queue.resume()
      queue.close()
      try await eventually("expected two ends, got \(ends.withLock { $0 })") { ends.withLock { $0.count } == 2 }
      #expect(ends.withLock { $0 } == [SendQueue.closedBefore, SendQueue.closedBefore])
    }
  }
#endif
