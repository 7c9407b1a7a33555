import Eventing

/// A message whose occurrence was sent to the handlers. Its verdict follows from the report of that
/// send, and from the loops that received the payload.
struct MessageHandling: BegunMessage {
  let listener: Listener
  let message: RemoteMessage
  let send: BegunSend
  let loops: LoopAccount

  var knownVerdict: Verdict? {
    guard let outcome = send.knownOutcome, let isLooped = loops.outcome else { return nil }
    // If `listener.verdict` returns `nil`, the message must be given up. This may publish a dead
    // letter, for which this getter cannot wait. So this getter returns `nil`, and the engine
    // awaits `verdict`, whose getter calls `listener.giveUp`.
    guard let verdict = listener.verdict(on: message, outcome, isLooped: isLooped) else { return nil }
    end(isHandled: verdict == .done)
    return verdict
  }

  var verdict: Verdict {
    get async {
      let outcome = await send.wait()
      let isLooped = await loops.wait()
      if let verdict = listener.verdict(on: message, outcome, isLooped: isLooped) {
        end(isHandled: verdict == .done)
        return verdict
      }
      // The message stays in hand while its dead letter is published, so no copy reaches a handler.
      defer { end(isHandled: false) }
      let reason = outcome.failures.first.map { EventingTransport.reason(of: $0.error) } ?? "no handler took it"
      return await listener.giveUp(message, headerValue(reason))
    }
  }

  /// Tells the memories of views and of the deduplication what became of the message.
  private func end(isHandled: Bool) {
    if !isHandled { send.noteHandedBack() }
    listener.end(message, isHandled: isHandled)
  }
}

/// A message whose verdict is known before any handler sees it.
struct DecidedMessage: BegunMessage {
  let decision: Verdict
  var knownVerdict: Verdict? { decision }
  var verdict: Verdict { get async { decision } }
}

/// A message that is given up: no handler can handle it, or it has failed too often.
struct HopelessMessage: BegunMessage {
  let listener: Listener
  let message: RemoteMessage
  let reason: String
  var knownVerdict: Verdict? { listener.options.deadLetter == nil ? .reject(reason) : nil }
  var verdict: Verdict { get async { await listener.giveUp(message, reason) } }
}

/// The rules by which one listening handles messages.
final class Listener: Sendable {
  let options: ListenOptions
  private let transport: any Transport
  /// The number of attempts after which a message is given up.
  private let attempts: Int
  /// The number of the listening in the ids of its dead letters: see ``letterID(of:)``.
  private let letterNumber: UInt64
  private let seen: SeenMessages
  private let hopeless = HopelessMessages()

  /// The delay before redelivery of a message that a handler could not take, for example because of
  /// a lock.
  private static let pause = Duration.milliseconds(100)
  /// The delay before redelivery of a repeated message, while its first delivery has no verdict
  /// yet.
  private static let longPause = Duration.seconds(1)
  /// The delays before a new attempt to publish a dead letter.
  private static let letterPauses = RetryPolicy.exponential(
    from: .seconds(1), to: .seconds(30), attempts: .max, jitter: false)

  /// - Parameter filter: The subject that the listening subscribes to. It may end with `*`.
  init(_ options: ListenOptions, _ filter: String, _ transport: any Transport) {
    self.options = options
    self.transport = transport
    // Without a stream no message comes again, so the first failure is final.
    attempts = transport.promises.isAtLeastOnce ? options.retry.attempts : 1
    letterNumber = options.group == nil ? .random(in: .min ... .max) : stableHash(filter)
    seen = SeenMessages(options.deduplication)
  }

  /// Returns the id of the dead letter of a message.
  ///
  /// A stream stores an id once. All members of a group use one id, so they make one letter of a
  /// message, even if the message comes again after a crash. Other listenings that give the message
  /// up make letters of their own: a group of this name on another subject, and each listening
  /// without a group. The id of the message alone does not name it: its stream takes the id again
  /// after some time, perhaps while the stream of the letter still refuses it. So the position is a
  /// part, too, and the stream that it belongs to.
  private func letterID(of message: RemoteMessage) -> String {
    let group = options.group.map { "\($0)." } ?? ""
    let position = message.position.map { "\($0)." } ?? ""
    let number = String(letterNumber ^ stableHash(message.streamMark), radix: 36)
    return "\(Listener.sendableID(message.boundedIdentity)).dead.\(group)\(position)\(number)"
  }

  /// Begins the handling of a decoded message. If the message was given up before, or is a
  /// repetition, no handler is called.
  func begin(_ message: RemoteMessage, _ send: (LoopAccount) -> BegunSend) -> any BegunMessage {
    if let entry = hopeless.entry(for: message) {
      var message = message
      message.attempt = entry.attempts
      return HopelessMessage(listener: self, message: message, reason: entry.reason)
    }
    switch seen.begin(message) {
    case .handled: return DecidedMessage(decision: .done)
    case .inHand: return DecidedMessage(decision: .release(after: Listener.longPause))
    case .new: break
    }
    let loops = LoopAccount()
    return MessageHandling(listener: self, message: message, send: send(loops), loops: loops)
  }

  /// Returns the verdict on a message after its delivery; `nil` if the message must be given up:
  /// see ``giveUp(_:_:)``.
  ///
  /// A handler that has ended or is locked has not handled the message. If no other handler has
  /// run, the message goes back: at once if all such handlers have ended, because the next delivery
  /// finds none of them.
  func verdict(on message: RemoteMessage, _ outcome: DeliveryOutcome, isLooped: Bool) -> Verdict? {
    guard outcome.failures.isEmpty else {
      return message.attempt >= attempts ? nil : .retry(after: options.retry.delay(after: message.attempt))
    }
    guard outcome.dropped == 0, outcome.later == 0, isLooped else { return .release(after: Listener.pause) }
    // A message is handled, too, if a newer one has replaced it by the user's wish.
    if outcome.delivered + outcome.replaced > 0 { return .done }
    if outcome.unhandled > 0 { return .release(after: outcome.locked > 0 ? Listener.pause : .zero) }
    // A forward to an event without handlers has not handled the message.
    let isLeftOut = outcome.leftOut > 0 || options.acceptsNoHandler && outcome.forwards == 0
    return isLeftOut ? .done : .release(after: Listener.pause)
  }

  /// Tells the deduplication that the handling of a message has ended. Call this method once for
  /// each handling: a second call could end the handling of a copy of the message that has begun
  /// meanwhile.
  func end(_ message: RemoteMessage, isHandled: Bool) { seen.end(message, isHandled: isHandled) }

  /// Publishes a dead letter, if the options name a subject for it. Returns the verdict on the
  /// message.
  ///
  /// A dead letter never goes to a subject that it came from. Otherwise two listenings could pass a
  /// message back and forth for ever, if each listens to the dead-letter subject of the other.
  /// While the letter cannot be stored, the message is redelivered, but no handler is called.
  func giveUp(_ message: RemoteMessage, _ reason: String) async -> Verdict {
    guard let subject = options.deadLetter else { return .reject(reason) }
    let way = LetterHeaders.way(of: message)
    guard !way.contains(LetterHeaders.mark(of: subject)) else {
      return .reject("\(reason). The message is a dead letter that came from \(subject): it stays where it is stored")
    }
    var letter = message
    letter.id = letterID(of: message)
    letter.headers = LetterHeaders.sendable(message.headers)
    letter.headers[HeaderName.deadReason] = headerValue(reason)
    letter.headers[HeaderName.deadWay] = way.joined(separator: " ")
    letter.headers[HeaderName.deadSubject] = LetterHeaders.escaped(message.subject)
    letter.headers[HeaderName.deadGroup] = options.group
    letter.headers[HeaderName.deadAttempts] = "\(message.attempt)"
    do {
      let receipt = try await publish(letter, to: subject)
      hopeless.remove(message)
      return .reject(receipt.isDuplicate ? "\(reason). A message with the id of its dead letter was there" : reason)
    } catch let error as TransportError where error.isLasting {
      hopeless.remove(message)
      return .reject("\(reason). Its dead letter cannot be published: \(error)")
    } catch {
      let tries = hopeless.note(message, reason)
      return .retry(after: Listener.letterPauses.delay(after: tries))
    }
  }

  /// Publishes a dead letter. If it is too large, cuts it until the engine accepts it.
  private func publish(_ letter: RemoteMessage, to subject: String) async throws -> Receipt {
    var letter = letter
    while true {
      do { return try await transport.publish(letter, to: subject) } catch let error as TransportError
        where error.code == .tooLarge
      { guard letter.cutLetter() else { throw error } }
    }
  }

  /// Returns the id of a message in a form that can be sent, and that is not too long. Another
  /// program may have written any bytes.
  private static func sendableID(_ id: String) -> String {
    if (try? checkID(id)) != nil { return id }
    return "\(headerValue(String(id.unicodeScalars.prefix(80))))~\(String(stableHash(id), radix: 36))"
  }
}
