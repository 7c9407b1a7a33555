import Chat
import NIOCore
import NIOPosix

/// Connects to a server on this machine, and closes the connection when `body` returns.
func withLineClient<Result: Sendable>(
  port: Int, receiveBuffer: Int? = nil, _ body: (inout LineReader, LineWriter) async throws -> Result
) async throws -> Result {
  var bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
  if let receiveBuffer { bootstrap = bootstrap.channelOption(.socketOption(.so_rcvbuf), value: receiveBuffer) }
  let connection = try await bootstrap.connect(host: "127.0.0.1", port: port) { channel in
    channel.eventLoop.makeCompletedFuture { try LineCodec.install(on: channel) }
  }
  return try await connection.executeThenClose { inbound, outbound in
    var reader = LineReader(lines: inbound.makeAsyncIterator())
    return try await body(&reader, outbound)
  }
}

typealias LineWriter = NIOAsyncChannelOutboundWriter<String>

struct Ended: Error {}

struct LineReader {
  var lines: NIOAsyncChannelInboundStream<String>.AsyncIterator

  /// Returns the next line.
  mutating func next() async throws -> String {
    guard let line = try await lines.next(isolation: #isolation) else { throw Ended() }
    return line
  }

  /// Returns the next line that meets a condition, and skips other lines.
  mutating func next(where fits: (String) -> Bool) async throws -> String {
    while true {
      let line = try await next()
      if fits(line) { return line }
    }
  }
}

/// Returns when a condition holds. If it never does, the time limit of the suite ends the wait.
func eventually(_ condition: () async -> Bool) async throws {
  while !(await condition()) { try await Task.sleep(for: .milliseconds(5)) }
}
