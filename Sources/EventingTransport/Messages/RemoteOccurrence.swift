public import Foundation

/// A payload together with the message that brought it.
public struct RemoteOccurrence<Payload: Sendable>: Sendable {
  /// The payload.
  public let payload: Payload
  private let message: RemoteMessage

  init(_ payload: Payload, _ message: RemoteMessage) { (self.payload, self.message) = (payload, message) }

  /// The id that the publisher chose. For a CloudEvent this is the attribute `id`, which is unique
  /// only for its source.
  public var id: String { message.publisherID }
  /// The subject that the message was published to.
  public var subject: String { message.subject }
  /// The headers of the message.
  public var headers: [String: String] { message.headers }
  /// The number of this attempt to handle the message: one more than the known failures. NATS knows
  /// those of this process only.
  public var attempt: Int { message.attempt }
  /// The position of the message in its stream; `nil` if it is not stored.
  public var position: UInt64? { message.position }
  /// The time at which the message was published. A message of a NATS stream has the time at which
  /// the server stored it; one over NATS without a stream, the time at which it arrived.
  public var publishedAt: Date { message.publishedAt }

  func with<Other: Sendable>(_ payload: (Payload) -> Other) -> RemoteOccurrence<Other> {
    RemoteOccurrence<Other>(payload(self.payload), message)
  }
}

/// What a remote event posts to its handlers.
struct Delivered<Payload: Sendable>: Sendable {
  let payload: Payload
  let account: MessageAccount

  var occurrence: RemoteOccurrence<Payload> { RemoteOccurrence(payload, account.message) }

  /// An interceptor has changed the payload.
  func with(_ payload: Payload) -> Delivered { Delivered(payload: payload, account: account) }
}
