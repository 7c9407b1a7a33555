#if NATS
  import Eventing
  import EventingTransport
  import Foundation

  enum MessageHeader {
    /// A stream detects repeated messages by this id.
    static let id = "Nats-Msg-Id"
    /// Set in a message that the server itself sends.
    static let status = "Status"
    /// Counts the requested messages that the server has not sent when it ends a request.
    static let unsent = "Nats-Pending-Messages"
    /// Names the headers without a value, joined by colons: libnats 3.4.1 would take the next line
    /// for the value of such a header.
    static let empty = "Eventing-Empty"
    static let description = "Description"
    /// Set in a reply without an answer.
    static let failure = "Eventing-Failure"
    /// Set in a reply without an answer.
    static let failureReason = "Eventing-Failure-Reason"
  }

  struct Arrival: Sendable {
    var subject: String
    /// For a message of a stream, the subject for the verdict.
    var reply: String?
    var headers: [String: String] = [:]
    var body: [UInt8] = []
    /// Set if the headers could not be read.
    var damage: String?

    /// Set in a message that the server itself sends, such as 503 without a responder.
    var status: Int? {
      guard reply == nil, body.isEmpty, let status = headers[MessageHeader.status] else { return nil }
      return Int(status)
    }

    var givenID: String? {
      [headers[MessageHeader.id], headers["ce-id"]].compactMap(\.self).first { !$0.isEmpty }
    }

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

  struct Outgoing: Sendable {
    var subject: String
    var reply: String?
    var id: String?
    var headers: [String: String] = [:]
    var body: [UInt8] = []
    /// Called with `nil`, or with the reason why the message was not sent, on the thread of the
    /// send queue or of the appender. Must not block.
    var isSent: (@Sendable (String?) -> Void)?
    /// Called on the thread of the send queue, directly before sending. A message that is not
    /// needed counts as sent.
    var isNeeded: (@Sendable () -> Bool)?
    /// Connections that libnats ended, because the socket did not take the message in time.
    var lateWrites = 0

    var wireHeaders: [String: String] {
      let empty = headers.filter(\.value.isEmpty)
      if empty.isEmpty { return headers }
      var result = headers
      for name in empty.keys { result[name] = nil }
      result[MessageHeader.empty] = empty.keys.sorted().joined(separator: ":")
      return result
    }

    /// An approximation of the bytes on the wire.
    var size: Int {
      headers.reduce(into: body.count + (id?.utf8.count ?? 0) + 40) {
        $0 += $1.key.utf8.count + $1.value.utf8.count + 4
      }
    }
  }

  extension Outgoing {
    /// - Parameter needsID: Send an id even if the publisher has chosen none. A message without
    ///   headers takes less time.
    init(_ message: RemoteMessage, to subject: String, needsID: Bool) {
      self.init(
        subject: subject, id: needsID || message.hasOwnID ? message.id : nil, headers: message.headers,
        body: message.body)
    }
  }

  /// One delivery of a stream's message, as the server writes it into the reply subject.
  struct StreamPlace: Sendable {
    let stream: Substring
    let consumer: Substring
    let position: UInt64
    let number: UInt64
    let time: Date

    /// `$JS.ACK.<stream>.<consumer>.<delivered>.<position>.<number>.<time>.<pending>`, or the
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

  /// Another program's text, safe and short enough for an error.
  func quoted(_ text: String) -> String {
    let scalars = text.unicodeScalars.prefix(80).map { $0.value < 32 || $0.value == 127 ? "?" : String($0) }
    return "\"\(scalars.joined())\(text.unicodeScalars.count > 80 ? "…" : "")\""
  }

  extension Duration {
    static let year = Duration.seconds(31_536_000)

    var nanoseconds: Int64 {
      let limited = min(max(self, .zero), .seconds(9_223_372_035))
      return limited.components.seconds * 1_000_000_000 + limited.components.attoseconds / 1_000_000_000
    }

    /// Rounded up, from 1 millisecond to one day: some calls of libnats have only 32 bits.
    var milliseconds: Int64 { max(1, (min(nanoseconds, 86_400_000_000_000) + 999_999) / 1_000_000) }
  }
#endif
