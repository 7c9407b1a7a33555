public import Foundation
import Synchronization

/// A message as processes exchange it.
public struct RemoteMessage: Sendable {
  /// The id. An engine that stores messages detects repetitions by it.
  public var id: String { didSet { hasOwnID = true } }
  /// If not, an engine that stores nothing need not send the id.
  package private(set) var hasOwnID: Bool
  /// The subject that the message was published to.
  public var subject: String
  /// The headers. Names are compared exactly as they are written.
  public var headers: [String: String]
  /// The encoded payload.
  public var body: [UInt8]
  /// The number of this attempt to handle the message. The first is 1.
  public var attempt: Int
  /// The position in the stream; `nil` if the engine stores nothing.
  public var position: UInt64?
  /// Differs between a stream and one that is made again with its name. Empty if that never
  /// happens.
  package var streamMark = ""
  /// The time at which the message was published. A message of a NATS stream has the time at which
  /// the server stored it; one over NATS without a stream, the time at which it arrived.
  public var publishedAt: Date
  /// Decides whether a responder begins a query, or the engine answers that there is none.
  package var queryGate: QueryGate?
  /// Set if the engine could not read the headers. A damaged message reaches no handler.
  package var damage: String?

  /// Creates a message.
  ///
  /// - Parameters:
  ///   - id: The id; `nil` for a new one.
  ///   - subject: The subject that the message is published to.
  ///   - headers: The headers.
  ///   - body: The encoded payload.
  ///   - attempt: The number of this attempt to handle the message. The first is 1.
  ///   - position: The position in the stream; `nil` if the engine stores nothing.
  ///   - publishedAt: The time at which the message was published: see ``publishedAt``.
  public init(
    id: String? = nil, subject: String = "", headers: [String: String] = [:], body: [UInt8] = [], attempt: Int = 1,
    position: UInt64? = nil, publishedAt: Date = Date()
  ) {
    self.id = id ?? MessageID.next()
    hasOwnID = id != nil
    self.subject = subject
    self.headers = headers
    self.body = body
    self.attempt = attempt
    self.position = position
    self.publishedAt = publishedAt
  }
}

extension RemoteMessage {
  /// Set in a dead letter.
  package var deadLetterOrigin: String? { headers[HeaderName.deadSubject] }
}

/// Unique over all processes: a random part for each process, and a number. A UUID for each message
/// would need a system call.
enum MessageID {
  private static let process =
    String(UInt64.random(in: .min ... .max), radix: 36)
    + String(UInt64.random(in: .min ... .max), radix: 36)
  private static let count = Atomic<UInt64>(0)

  static func next() -> String {
    "\(process).\(count.wrappingAdd(1, ordering: .relaxed).newValue)"
  }
}
