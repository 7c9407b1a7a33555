public import Eventing
import NIOCore
import NIOPosix

/// A chat with rooms, over TCP, in lines of text.
///
/// The first line of a client is `ROOM NAME`. Each later line goes to all clients of the room,
/// itself included, as `NAME: LINE`. A room is a key of one event, and a client is a sequence of
/// that key's payloads, so:
///
/// - All clients of a room see its lines in one order.
/// - A client sees every line that is sent after its welcome.
/// - Lines wait for a client that reads slowly, up to `linesThatWait` of them. Then the oldest are
///   dropped, and the client is told how many, at the place where they are missing. Neither the
///   room nor the other clients wait.
/// - When a client leaves, however it does, its sequence ends with its task. A room without clients
///   costs nothing.
public struct ChatServer: Sendable {
  /// The lines of each room.
  public let rooms = KeyedEvent<String, String>("rooms")
  private let linesThatWait: Int

  /// - Parameter linesThatWait: The largest number of lines that wait for one client.
  public init(linesThatWait: Int = 1_000) { self.linesThatWait = linesThatWait }

  /// Serves until the task is cancelled.
  ///
  /// - Parameters:
  ///   - host: The address to listen at.
  ///   - port: The port to listen at; 0 for a free one.
  ///   - onReady: A closure that is told the port when clients may come.
  public func run(host: String = "127.0.0.1", port: Int, onReady: (Int) -> Void = { _ in }) async throws {
    let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .bind(host: host, port: port) { channel in
        channel.eventLoop.makeCompletedFuture { try LineCodec.install(on: channel) }
      }
    onReady(server.channel.localAddress?.port ?? port)
    try await withThrowingDiscardingTaskGroup { group in
      try await server.executeThenClose { connections in
        for try await connection in connections {
          // An error of one connection, such as a reset or a line that is too long, ends only that.
          group.addTask { try? await serve(connection) }
        }
      }
    }
  }

  private func serve(_ connection: NIOAsyncChannel<String, String>) async throws {
    try await connection.executeThenClose { inbound, outbound in
      var lines = inbound.makeAsyncIterator()
      guard let first = try await lines.next() else { return }
      let words = first.split(separator: " ").map(String.init)
      guard words.count == 2 else { return try await outbound.write("* expected ROOM NAME") }
      let (room, name) = (words[0], words[1])

      // In force at once: the client misses no line after its welcome.
      let arrivals = rooms[room].arrivals(named: name, buffering: .newest(linesThatWait))
      try await outbound.write("* welcome to \(room), \(name)")

      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
          for await arrival in arrivals {
            // Suspends while the client does not read.
            switch arrival {
            case .payload(let line): try await outbound.write(line)
            case .lagged(let count): try await outbound.write("* \(count) lines are missing")
            }
          }
        }
        while let line = try await lines.next() { await rooms.send("\(name): \(line)", to: room) }
        group.cancelAll()  // the client has left
      }
    }
  }
}
