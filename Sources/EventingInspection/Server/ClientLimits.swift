import Eventing

/// See section 6 of `Inspector/PROTOCOL.md`.
struct ClientLimits: Sendable {
  static let second: UInt64 = 1_000_000_000

  /// The longest line from a client, in bytes.
  var line = 65_536
  /// The longest line to a client, in bytes.
  var reply = 1_048_576
  /// Bytes to be sent. While less than ``reply`` bytes are free, lines are made later: see
  /// ``pending``.
  var queue = 2_097_152
  var clients = 8
  /// The unit is milliseconds.
  var intervals = 50...60_000
  var subscriptions = 4
  var megabytes = 64
  /// A line that is no request is a mistake. After so many, the connection is closed.
  var mistakes = 8
  /// Answers and updates that may wait before the server stops reading from the client.
  var pending = 32
  /// Beyond these, the server does not read from the client until the second is over.
  var linesASecond = 200
  var bytesASecond = 1_048_576
  var helloTime = 5 * second
  /// The time for a client that reads nothing.
  var idleTime = 30 * second
}
