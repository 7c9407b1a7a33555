public import Foundation

/// A message whose payload no listener was able to handle, as stored on the dead-letter subject.
///
/// Programs read dead letters from a ``DeadLetterQueue``.
public struct RemoteDeadLetter: Sendable, Identifiable {
  /// The id of the message: see ``RemoteMessage/id``.
  public let id: String
  /// The subject that the message was published to.
  public let subject: String
  /// The group that gave the message up; `nil` for a listening without a group.
  public let group: String?
  /// The name of the handler that failed last; `nil` if no handler got the message, for example
  /// because its body couldn't be decoded.
  public let handler: String?
  /// The error of that handler, or the reason why no handler got the message.
  public let reason: String
  /// The number of attempts to handle the message since it was last sent.
  public let attempts: Int
  /// How many times the message has become a dead letter. More than 1 after
  /// ``DeadLetterQueue/sendAgain(_:)``.
  public let deaths: Int
  /// The headers of the message, without instructions to the engine and those that can't be sent.
  public let headers: [String: String]
  /// The body of the message.
  public let body: [UInt8]
  /// Whether the letter has all headers and the whole body. If a message is too large, its letter
  /// has to be cut.
  public let isComplete: Bool
  let place: Place
  /// A mark of what the group listens to: a group has a name and a subject.
  let filterMark: String?
  /// Whether a listening has published the message here.
  let isLetter: Bool
  /// The position of the letter in its stream.
  public var position: UInt64 { place.position }
  /// The position of the message in its stream; `nil` if the letter doesn't contain it.
  public let messagePosition: UInt64?
  /// The time at which the letter was stored.
  public let storedAt: Date

  init(_ letter: RemoteMessage) {
    func header(_ name: String) -> String? { letter.headers[name] }
    func number(_ name: String) -> Int { header(name).flatMap { Int($0) } ?? 1 }
    id = header(HeaderName.deadID).flatMap { SubjectWord.unescaped($0[...]) } ?? letter.id
    subject = header(HeaderName.deadSubject) ?? letter.subject
    group = header(HeaderName.deadGroup)
    handler = header(HeaderName.deadHandler)
    reason = header(HeaderName.deadReason) ?? "no reason was given"
    attempts = number(HeaderName.deadAttempts)
    deaths = number(HeaderName.deadCount)
    isComplete = header(HeaderName.deadLeftOut) == nil && header(HeaderName.deadSize) == nil
    headers = LetterHeaders.original(letter.headers)
    body = letter.body
    place = Place(letter)
    filterMark = header(HeaderName.deadFilter)
    isLetter = header(HeaderName.deadSubject) != nil
    messagePosition = header(HeaderName.deadPosition).flatMap { UInt64($0) }
    storedAt = letter.publishedAt
  }

  /// A recreated stream counts its positions from 1 again, but has a different mark.
  struct Place: Hashable, Sendable {
    let position: UInt64
    let streamMark: String

    init(_ message: RemoteMessage) { (position, streamMark) = (message.position ?? 0, message.streamMark) }
  }

  /// Messages in flight may become letters in any order, so letters are sorted by their messages.
  static func isBefore(_ a: RemoteDeadLetter, _ b: RemoteDeadLetter) -> Bool {
    (a.messagePosition ?? .max, a.position) < (b.messagePosition ?? .max, b.position)
  }

  /// The message with its attempts reset to zero. Only the group of the letter handles it.
  var message: RemoteMessage {
    var message = RemoteMessage(id: LetterHeaders.idOfRepetition(of: self), headers: headers, body: body)
    message.headers[HeaderName.originalID] = SubjectWord.escaped(id)
    message.headers[HeaderName.deadCount] = "\(deaths)"
    message.headers[HeaderName.onlyGroup] = group.map { LetterHeaders.only($0, filterMark ?? "") }
    return message
  }
}

extension RemoteDeadLetter: CustomStringConvertible {
  /// One line for a log, without the body.
  public var description: String {
    let place = group.map { " in \($0)" } ?? ""
    let again = deaths > 1 ? ", \(deaths) times" : ""
    return onOneLine(
      "\(id) to \(subject)\(place), \(handler ?? "no handler"): \(reason) (attempt \(attempts)\(again))")
  }
}
