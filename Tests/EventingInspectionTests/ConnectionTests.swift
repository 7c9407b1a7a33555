import Testing

@testable import EventingInspection

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Tests of one connection over a pair of sockets. The tests pass the time to each call.
@Suite struct ConnectionTests {
  /// The two ends of a connection, which the `deinit` closes.
  private final class Ends {
    let (ours, theirs): (Int32, Int32)

    init() throws {
      var ends: [Int32] = [-1, -1]
      #if canImport(Glibc)
        let result = unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends)
      #else
        let result = unsafe socketpair(AF_UNIX, SOCK_STREAM, 0, &ends)
      #endif
      try #require(result == 0)
      (ours, theirs) = (ends[0], ends[1])
      for end in ends { Descriptors.prepare(end) }
    }

    deinit {
      close(ours)
      close(theirs)
    }

    /// Reads, at the client's end, all bytes that have arrived. Returns their number.
    func read() -> Int {
      var sum = 0
      unsafe withUnsafeTemporaryAllocation(byteCount: 65_536, alignment: 16) { buffer in
        while case .bytes(let count) = unsafe Descriptors.read(theirs, into: buffer) { sum += count }
      }
      return sum
    }
  }

  private func connection(_ ends: Ends, _ limits: ClientLimits, lines: Int, of bytes: Int) -> Connection {
    let connection = Connection(ends.ours, Poller(), limits, allowsControl: false, at: 1, wake: {})
    connection.hasSaidHello = true
    for _ in 0..<lines {
      connection.pending.append(PendingOutput(line: [UInt8](repeating: 0x78, count: bytes)))
    }
    return connection
  }

  @Test func aClientThatAsksMuchGetsAShareAtATime() throws {
    let ends = try Ends()
    var limits = ClientLimits()
    (limits.reply, limits.queue) = (4_096, 65_536)
    let connection = connection(ends, limits, lines: 16, of: 2_048)
    connection.flush(at: 1)
    #expect(ends.read() == 4_096 && connection.wantsToWrite)
    var rest = 0
    while connection.wantsToWrite {
      connection.flush(at: 1)
      rest += ends.read()
    }
    #expect(rest == 16 * 2_048 - 4_096)
  }

  @Test func aClientThatReadsNothingIsClosedAfterTheIdleTime() throws {
    let ends = try Ends()
    var limits = ClientLimits()
    (limits.reply, limits.queue, limits.idleTime) = (65_536, 262_144, 1_000)
    // More bytes than fit into the buffer of a socket.
    let connection = connection(ends, limits, lines: 1_000, of: 32_768)
    var left = -1
    while connection.pending.count != left {
      left = connection.pending.count
      for _ in 0..<100 { connection.flush(at: 1) }
    }
    #expect(left > 0 && connection.waitingBytes <= limits.queue)
    connection.flush(at: 1_000)
    #expect(!connection.isClosed)
    // The idle time begins again when the client has read something.
    #expect(ends.read() > 0)
    connection.flush(at: 1_000)
    for _ in 0..<100 { connection.flush(at: 1_999) }
    #expect(!connection.isClosed)
    connection.flush(at: 3_000)
    #expect(connection.isClosed)
  }
}
