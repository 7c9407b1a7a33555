import Eventing

/// The limits for clients: see section 6 of `Inspector/PROTOCOL.md`.
struct ClientLimits: Sendable {
  static let second: UInt64 = 1_000_000_000

  /// The largest number of bytes of a line that a client sends.
  var line = 65_536
  /// The largest number of bytes of a line that a client gets.
  var reply = 1_048_576
  /// The largest number of bytes that wait for a client.
  var queue = 2_097_152
  var clients = 8
  /// The intervals of updates, in milliseconds.
  var intervals = 50...60_000
  var subscriptions = 4
  /// The largest size of a trace.
  var megabytes = 64
  /// The lines that are no request, after which a connection ends.
  var mistakes = 8
  /// The requests that wait for room. A client with more is not read.
  var pending = 32
  /// The requests and bytes of a second, after which a client is not read until the next second.
  var linesASecond = 200
  var bytesASecond = 1_048_576
  /// The time for the hello.
  var helloTime = 5 * second
  /// The time after which a client that takes nothing is closed.
  var idleTime = 30 * second
}
