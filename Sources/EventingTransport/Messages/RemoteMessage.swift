public import Foundation
import Synchronization

/// A message as processes exchange it.
///
/// Copies share their contents until one of them is changed.
public struct RemoteMessage: Sendable {
  private struct Contents: Sendable {
    var id: String
    var hasOwnID: Bool
    var subject: String
    var headers: [String: String]
    var body: [UInt8]
    var streamMark = ""
    var publishedAt: Date
    var queryGate: QueryGate?
    var damage: String?

    mutating func name(_ id: String) { (self.id, hasOwnID) = (id, true) }
  }

  private final class Storage: Sendable {
    let contents: Contents
    static let empty = Storage(
      Contents(id: "", hasOwnID: false, subject: "", headers: [:], body: [], publishedAt: Date()))

    init(_ contents: Contents) { self.contents = contents }
  }

  private var storage: Storage
  /// The number of this attempt to handle the message. The first is 1.
  public var attempt: Int
  /// The position in the stream; `nil` if the engine stores nothing.
  public var position: UInt64?

  private var contents: Contents {
    _read { yield storage.contents }
    _modify {
      var contents = storage.contents
      // Without a second reference, a change of the headers or the body copies none of them.
      storage = .empty
      defer { storage = Storage(contents) }
      yield &contents
    }
  }

  /// The id. An engine that stores messages detects repetitions by it.
  public var id: String {
    get { contents.id }
    set { contents.name(newValue) }
  }
  /// If not, an engine that stores nothing need not send the id.
  package var hasOwnID: Bool { contents.hasOwnID }
  /// The subject that the message was published to.
  public var subject: String {
    get { contents.subject }
    set { contents.subject = newValue }
  }
  /// The headers. Names are compared exactly as they are written.
  public var headers: [String: String] {
    get { contents.headers }
    _modify { yield &contents.headers }
  }
  /// The encoded payload.
  public var body: [UInt8] {
    get { contents.body }
    _modify { yield &contents.body }
  }
  /// Differs between a stream and one that is recreated with its name. Empty if that never happens.
  package var streamMark: String {
    get { contents.streamMark }
    set { contents.streamMark = newValue }
  }
  /// The time at which the message was published. A message of a NATS stream has the time at which
  /// the server stored it; one over NATS without a stream, the time at which it arrived.
  public var publishedAt: Date {
    get { contents.publishedAt }
    set { contents.publishedAt = newValue }
  }
  /// Decides whether a responder begins a query, or the engine answers that there is none.
  package var queryGate: QueryGate? {
    get { contents.queryGate }
    set { contents.queryGate = newValue }
  }
  /// Set if the engine could not read the headers. A damaged message reaches no handler.
  package var damage: String? {
    get { contents.damage }
    set { contents.damage = newValue }
  }

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
    storage = Storage(
      Contents(
        id: id ?? MessageID.next(), hasOwnID: id != nil, subject: subject, headers: headers, body: body,
        publishedAt: publishedAt))
    self.attempt = attempt
    self.position = position
  }
}

extension RemoteMessage {
  /// Set in a dead letter.
  package var deadLetterOrigin: String? { headers[HeaderName.deadSubject] }
}

/// Unique over all processes: a random part for each process, and a number. A UUID for each message
/// would need a system call.
enum MessageID {
  private static let process = Array(
    (String(UInt64.random(in: .min ... .max), radix: 36) + String(UInt64.random(in: .min ... .max), radix: 36) + ".")
      .utf8)
  private static let count = Atomic<UInt64>(0)

  static func next() -> String {
    let (process, number) = (process, String(count.wrappingAdd(1, ordering: .relaxed).newValue))
    // Joining two strings takes several times as long.
    return unsafe String(unsafeUninitializedCapacity: process.count + number.utf8.count) { text in
      let end = unsafe text.initialize(fromContentsOf: process)
      return unsafe text[end...].initialize(fromContentsOf: number.utf8)
    }
  }
}
