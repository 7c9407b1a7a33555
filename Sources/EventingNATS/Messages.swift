#if NATS
  import Eventing
  import EventingTransport
  import Foundation

  /// The names of the headers that the engine reads or writes. Each comment says what the value of
  /// that header is.
  enum MessageHeader {
    /// The id. A stream detects repeated messages by it.
    static let id = "Nats-Msg-Id"
    /// The status code of a message that the server itself sends.
    static let status = "Status"
    /// The number of requested messages that the server has not sent, when it ends a request.
    static let unsent = "Nats-Pending-Messages"
    /// The names of the headers without a value, joined by colons. libnats 3.4.1 decodes such a
    /// header wrongly: it takes the next line for the value.
    static let empty = "Eventing-Empty"
    /// The text for the code in ``status``.
    static let description = "Description"
    /// The code of the error, in a reply that reports an error and has no answer.
    static let failure = "Eventing-Failure"
    /// The description of the error, in a reply that reports an error and has no answer.
    static let failureReason = "Eventing-Failure-Reason"
  }

  /// A received message.
  struct Arrival: Sendable {
    var subject: String
    /// The subject for the reply. For a message of a stream, the subject for the verdict.
    var reply: String?
    var headers: [String: String] = [:]
    var body: [UInt8] = []
    /// The reason why the headers could not be read; otherwise `nil`.
    var damage: String?

    /// The code of a message that the server itself sends instead of a reply, such as 503 if there
    /// is no responder.
    var status: Int? {
      guard reply == nil, body.isEmpty, let status = headers[MessageHeader.status] else { return nil }
      return Int(status)
    }

    /// The id that the publisher gave; `nil` if it gave none. For a stream, an empty id is none.
    var givenID: String? {
      [headers[MessageHeader.id], headers["ce-id"]].compactMap(\.self).first { !$0.isEmpty }
    }

    /// The message as the handlers of a transport receive it.
    var message: RemoteMessage {
      var message = RemoteMessage(id: givenID, subject: subject, body: body)
      message.headers = headers
      message.damage = damage
      message.headers[MessageHeader.id] = nil
      if headers[MessageHeader.id]?.isEmpty ?? true { message.id = message.boundedIdentity }
      if let names = message.headers.removeValue(forKey: MessageHeader.empty) {
        for name in names.split(separator: ":") { message.headers[String(name)] = "" }
      }
      return message
    }
  }

  /// A message to send.
  struct Outgoing: Sendable {
    var subject: String
    var reply: String?
    var id: String?
    var headers: [String: String] = [:]
    var body: [UInt8] = []
    /// A closure that is called with `nil` when the message was sent, or with the reason why it was
    /// not. The thread of the send queue calls it or, if the queue is closed, the thread that
    /// appends the message. It must not block.
    var isSent: (@Sendable (String?) -> Void)?
    /// A closure that returns whether the message must still be sent; `nil` if it always must. It
    /// is called on the thread of the send queue, directly before the message is sent. A message
    /// that is not needed counts as sent.
    var isNeeded: (@Sendable () -> Bool)?
    /// The number of connections on which this message was tried, and whose socket did not take the
    /// message in time. libnats has ended each of them.
    var lateWrites = 0

    /// The headers in the form in which libnats can send them.
    var wireHeaders: [String: String] {
      let empty = headers.filter(\.value.isEmpty)
      if empty.isEmpty { return headers }
      var result = headers
      for name in empty.keys { result[name] = nil }
      result[MessageHeader.empty] = empty.keys.sorted().joined(separator: ":")
      return result
    }

    /// The approximate number of bytes on the wire.
    var size: Int {
      headers.reduce(into: body.count + (id?.utf8.count ?? 0) + 40) {
        $0 += $1.key.utf8.count + $1.value.utf8.count + 4
      }
    }
  }

  extension Outgoing {
    /// Creates an outgoing message from the message of a transport.
    ///
    /// - Parameter needsID: Whether to send an id even if the publisher has chosen none. A message
    ///   without any header takes less time.
    init(_ message: RemoteMessage, to subject: String, needsID: Bool) {
      self.init(
        subject: subject, id: needsID || message.hasOwnID ? message.id : nil, headers: message.headers,
        body: message.body)
    }
  }

  /// The facts about one delivery of a message of a stream. The server writes them into the reply
  /// subject of the message, to which the verdict is sent.
  struct StreamPlace: Sendable {
    let stream: Substring
    let consumer: Substring
    let position: UInt64
    /// The number of this delivery among all deliveries of the consumer, counted from 1.
    let number: UInt64
    let time: Date

    /// Reads `$JS.ACK.<stream>.<consumer>.<delivered>.<position>.<number>.<time>.<pending>`, or the
    /// longer form with a domain and an account.
    init?(_ reply: String) {
      let words = reply.split(separator: ".")
      let first = words.count == 9 ? 4 : 6
      guard words.count == 9 || words.count >= 11, words[0] == "$JS", words[1] == "ACK",
        let delivered = Int(words[first]), delivered > 0, let position = UInt64(words[first + 1]),
        let number = UInt64(words[first + 2]), let time = Int64(words[first + 3]), position > 0, position < .max
      else { return nil }
      (stream, consumer) = (words[first - 2], words[first - 1])
      self.position = position
      self.number = number
      self.time = Date(timeIntervalSince1970: Double(time) / 1e9)
    }
  }

  /// Returns a text of another program in quotation marks, safe and short enough for an error.
  func quoted(_ text: String) -> String {
    let scalars = text.unicodeScalars.prefix(80).map { $0.value < 32 || $0.value == 127 ? "?" : String($0) }
    return "\"\(scalars.joined())\(text.unicodeScalars.count > 80 ? "…" : "")\""
  }

  extension Duration {
    /// One year, the longest time limit and the longest delay.
    static let year = Duration.seconds(31_536_000)

    /// The duration in nanoseconds, from 0 to 292 years.
    var nanoseconds: Int64 {
      let limited = min(max(self, .zero), .seconds(9_223_372_035))
      return limited.components.seconds * 1_000_000_000 + limited.components.attoseconds / 1_000_000_000
    }

    /// The duration in milliseconds, rounded up, from 1 millisecond to one day. Some calls of
    /// libnats have only 32 bits for it.
    var milliseconds: Int64 { max(1, (min(nanoseconds, 86_400_000_000_000) + 999_999) / 1_000_000) }
  }
#endif
