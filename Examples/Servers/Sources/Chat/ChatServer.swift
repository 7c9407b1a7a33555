public import Eventing
import NIOCore
import NIOPosix

/// A chat with rooms, over TCP, in lines of text.
///
/// The first line of a client is `ROOM NAME`. Each later line goes to all clients of the room, the
/// sender included, as `NAME: LINE`. A room is a key of one event, and a client iterates over a
/// sequence of that key's payloads. So:
///
/// - All clients of a room receive its lines in one order.
/// - A client that reads fast enough receives every line that is sent after its welcome.
/// - If a client reads slowly, up to `linesThatWait` lines wait for it. Beyond that, the oldest are
///   dropped. At the place where lines are missing, the client receives their number. Neither the
///   room nor the other clients wait.
/// - When a client disconnects, in whatever way, its sequence ends with its task. A room without
///   clients takes no memory.
public struct ChatServer: Sendable {
  /// The lines of each room.
  public let rooms = KeyedEvent<String, String>("rooms")
  private let linesThatWait: Int

  /// Creates a server without clients.
  ///
  /// - Parameter linesThatWait: The largest number of lines that wait for one client.
  public init(linesThatWait: Int = 1_000) { self.linesThatWait = linesThatWait }

  /// Serves until the task is cancelled.
  ///
  /// - Parameters:
  ///   - host: The address to listen at.
  ///   - port: The port to listen at; 0 for a free one.
  ///   - onReady: A closure that receives the port when clients can connect.
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
          // An error of one connection, such as a reset or too long a line, ends only that
          // connection.
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

      // The sequence receives lines from now on, so the client misses no line after its welcome.
      let arrivals = rooms[room].arrivals(named: name, buffering: .newest(linesThatWait))
      try await outbound.write("* welcome to \(room), \(name)")

      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
          for await arrival in arrivals {
            // `write` suspends while the client does not read.
            switch arrival {
            case .payload(let line): try await outbound.write(line)
            case .dropped(let count): try await outbound.write("* \(count) lines are missing")
            }
          }
        }
        while let line = try await lines.next() { await rooms.send("\(name): \(line)", to: room) }
        group.cancelAll()  // the client has disconnected
      }
    }
  }
}
