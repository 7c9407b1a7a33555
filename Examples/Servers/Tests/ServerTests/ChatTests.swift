import Chat
import Eventing
import NIOCore
import Testing

@Suite(.timeLimit(.minutes(5))) struct ChatTests {
  /// Runs a server on a free port while a closure runs.
  func withServer(
    linesThatWait: Int = 1_000, _ body: @escaping @Sendable (ChatServer, _ port: Int) async throws -> Void
  ) async throws {
    let server = ChatServer(linesThatWait: linesThatWait)
    let ready = Event<Int>("ready", replaying: .last(1))
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await server.run(port: 0) { port in ready.post(port) } }
      group.addTask {
        let port = try await ready.next()
        try await body(server, port)
      }
      try await group.next()
      group.cancelAll()
    }
  }

  @Test func twoHundredClientsSeeOneOrderInEachRoom() async throws {
    let (rooms, clients, lines) = (10, 20, 10)
    try await withServer { server, port in
      let transcripts = try await withThrowingTaskGroup(of: (room: Int, transcript: [String]).self) { group in
        for room in 0..<rooms {
          for client in 0..<clients {
            group.addTask {
              try await withLineClient(port: port) { reader, writer in
                try await writer.write("room\(room) client\(client)")
                #expect(try await reader.next() == "* welcome to room\(room), client\(client)")
                #expect(try await reader.next() == "go")
                try await writer.write(contentsOf: (0..<lines).map { "line \($0)" })
                var transcript: [String] = []
                for _ in 0..<clients * lines { transcript.append(try await reader.next()) }
                return (room, transcript)
              }
            }
          }
        }
        try await eventually { server.rooms.handlerCount == rooms * clients }
        for room in 0..<rooms { server.rooms.post("go", to: "room\(room)") }
        return try await group.reduce(into: [Int: [[String]]]()) { $0[$1.room, default: []].append($1.transcript) }
      }
      for room in 0..<rooms {
        let all = try #require(transcripts[room])
        #expect(all.count == clients)
        #expect(Set(all).count == 1)  // all clients received the lines in one order
        for client in 0..<clients {
          let sent = (0..<lines).map { "client\(client): line \($0)" }
          #expect(all[0].filter { $0.hasPrefix("client\(client):") } == sent)
        }
      }
      // When all clients have disconnected, the event has no handler and no key left.
      try await eventually { server.rooms.handlerCount == 0 }
      #expect(server.rooms.keys.isEmpty)
    }
  }

  @Test func aSlowClientDelaysNoOtherAndIsToldWhatIsMissing() async throws {
    let text = String(repeating: ".", count: 4_000)
    try await withServer(linesThatWait: 16) { server, port in
      // The small receive buffer fills soon, so the server soon notices that the client does not
      // read.
      try await withLineClient(port: port, receiveBuffer: 4_096) { slow, slowWriter in
        try await slowWriter.write("lobby slow")
        #expect(try await slow.next() == "* welcome to lobby, slow")

        // Ada writes until the sockets are full and lines are dropped. No write of hers waits for
        // long.
        let (lines, dropped) = try await withLineClient(port: port) { reader, writer in
          try await writer.write("lobby ada")
          #expect(try await reader.next() == "* welcome to lobby, ada")
          var lines = 0
          while true {
            try await writer.write("\(lines) \(text)")
            #expect(try await reader.next().hasPrefix("ada: \(lines) "))
            lines += 1
            let snapshot = try #require(await server.rooms.handlers().first { $0.name == "slow" })
            if snapshot.droppedCount > 100 { return (lines, snapshot.droppedCount) }
          }
        }

        // Now the slow client reads the lines in their order. Where lines are missing, it reads
        // their number.
        var (next, missing) = (0, 0)
        while next < lines {
          let words = try await slow.next().split(separator: " ")
          if words[0] == "*", let count = Int(words[1]) {
            missing += count
            next += count
          } else {
            #expect(Int(words[1]) == next)
            next += 1
          }
        }
        #expect(missing == dropped)
      }
    }
  }

  @Test func aLineThatIsTooLongEndsItsClientOnly() async throws {
    try await withServer { server, port in
      try await withLineClient(port: port) { ada, adaWriter in
        try await adaWriter.write("lobby ada")
        _ = try await ada.next()
        await #expect(throws: (any Error).self) {
          try await withLineClient(port: port) { reader, writer in
            try await writer.write("lobby bert")
            _ = try await reader.next()
            try await writer.write(String(repeating: ".", count: 10_000))
            _ = try await reader.next()
          }
        }
        try await eventually { server.rooms.handlerCount(for: "lobby") == 1 }
        try await adaWriter.write("still here")
        #expect(try await ada.next() == "ada: still here")
      }
    }
  }

  @Test func theEndOfTheServerEndsItsClients() async throws {
    let joined = Event<Int>("joined", replaying: .last(1))
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        try await withServer { server, port in
          joined.post(port)
          try await eventually { server.rooms.handlerCount == 1 }
        }
      }
      group.addTask {
        let port = try await joined.next()
        try await withLineClient(port: port) { reader, writer in
          try await writer.write("lobby ada")
          await #expect(throws: Ended.self) { while true { _ = try await reader.next() } }
        }
      }
      try await group.waitForAll()
    }
  }
}
