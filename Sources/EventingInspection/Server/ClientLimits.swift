import Eventing

/// The limits for clients: see section 6 of `Inspector/PROTOCOL.md`.
struct ClientLimits: Sendable {
  static let second: UInt64 = 1_000_000_000

  /// The largest number of bytes of a line that a client sends.
  var line = 65_536
  /// The largest number of bytes of a line that a client gets.
  var reply = 1_048_576
  /// The largest number of bytes that wait to be sent to a client. While less than ``reply`` bytes
  /// of this limit are free, the server makes no line for the client; it makes the line later: see
  /// ``pending``.
  var queue = 2_097_152
  var clients = 8
  /// The intervals between updates that a client may ask for, in milliseconds.
  var intervals = 50...60_000
  var subscriptions = 4
  /// The largest size of a trace that a client may ask for, in megabytes.
  var megabytes = 64
  /// The number of mistakes after which a connection is closed. A mistake is a line that is no
  /// request.
  var mistakes = 8
  /// The number of answers and updates that may wait for room in the ``queue`` before the server
  /// stops reading from the client.
  var pending = 32
  /// The largest numbers of lines and of bytes that a client may send in one second. If a client
  /// has sent more, the server does not read from it until that second is over.
  var linesASecond = 200
  var bytesASecond = 1_048_576
  /// The time within which a new client must say hello.
  var helloTime = 5 * second
  /// The time after which the connection of a client that reads nothing is closed.
  var idleTime = 30 * second
}
