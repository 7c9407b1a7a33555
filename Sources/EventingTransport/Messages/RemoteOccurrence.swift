public import Foundation

/// A payload together with the message that brought it.
public struct RemoteOccurrence<Payload: Sendable>: Sendable {
  /// The payload.
  public let payload: Payload
  /// The id that the publisher chose. For a CloudEvent this is the attribute `id`, which is unique
  /// only for its source.
  public let id: String
  /// The subject that the message was published to.
  public let subject: String
  /// The headers of the message.
  public let headers: [String: String]
  /// The number of this attempt to handle the message: one more than the known failures. NATS knows
  /// those of this process only.
  public let attempt: Int
  /// The position of the message in its stream; `nil` if it is not stored.
  public let position: UInt64?
  /// The time at which the message was published. A message of a NATS stream has the time at which
  /// the server stored it; one over NATS without a stream, the time at which it arrived.
  public let publishedAt: Date

  init(_ payload: Payload, _ message: RemoteMessage) {
    self.payload = payload
    id = message.publisherID
    subject = message.subject
    headers = message.headers
    attempt = message.attempt
    position = message.position
    publishedAt = message.publishedAt
  }

  private init(_ payload: Payload, as other: RemoteOccurrence<some Sendable>) {
    self.payload = payload
    (id, subject, headers) = (other.id, other.subject, other.headers)
    (attempt, position, publishedAt) = (other.attempt, other.position, other.publishedAt)
  }

  func with<Other: Sendable>(_ payload: (Payload) -> Other) -> RemoteOccurrence<Other> {
    RemoteOccurrence<Other>(payload(self.payload), as: self)
  }
}

/// `loops` counts the loops that receive the occurrence.
struct Delivered<Payload: Sendable>: Sendable {
  let occurrence: RemoteOccurrence<Payload>
  let loops: LoopAccount

  /// An interceptor has changed the payload.
  func with(_ payload: Payload) -> Delivered { Delivered(occurrence: occurrence.with { _ in payload }, loops: loops) }
}
