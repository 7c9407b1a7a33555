import Eventing

/// The verdict follows from the report of the send, and from the loops that received the payload.
struct MessageHandling: BegunMessage {
  let listener: Listener
  let send: Completion
  let account: MessageAccount

  private var message: RemoteMessage { account.message }

  var knownVerdict: Verdict? {
    guard let report = send.finishedReport, let isLooped = account.isLooped else { return nil }
    let outcome = account.outcome(report)
    // If `listener.verdict` returns `nil`, the message must be given up. This may publish a dead
    // letter, for which this getter cannot wait. So this getter returns `nil`, and the engine
    // awaits `verdict`, whose getter calls `listener.giveUp`.
    guard let verdict = listener.verdict(on: message, outcome, isLooped: isLooped) else { return nil }
    end(isHandled: verdict == .done)
    return verdict
  }

  var verdict: Verdict {
    get async {
      // Waits for handlers behind forwards, too, and runs the `.task` handlers.
      let outcome = account.outcome(await send.wait())
      let isLooped = await account.waitForLoops()
      if let verdict = listener.verdict(on: message, outcome, isLooped: isLooped) {
        end(isHandled: verdict == .done)
        return verdict
      }
      // The message stays in hand while its dead letter is published, so no copy reaches a handler.
      defer { end(isHandled: false) }
      let failure = outcome.failures.first
      let reason = failure.map { EventingTransport.reason(of: $0.error) } ?? "no handler took it"
      return await listener.giveUp(
        message, headerValue(reason),
        failure.map { headerValue($0.handler.name ?? $0.handler.sourceText ?? "a handler") })
    }
  }

  private func end(isHandled: Bool) {
    if !isHandled { account.noteHandedBack() }
    listener.end(message, isHandled: isHandled)
  }
}

/// The verdict is known before any handler sees the message.
struct DecidedMessage: BegunMessage {
  let decision: Verdict
  var knownVerdict: Verdict? { decision }
  var verdict: Verdict { get async { decision } }
}

/// No handler can handle the message, or it has failed too often.
struct HopelessMessage: BegunMessage {
  let listener: Listener
  let message: RemoteMessage
  let reason: String
  var handler: String?
  var knownVerdict: Verdict? { listener.options.deadLetter == nil ? .reject(reason) : nil }
  var verdict: Verdict { get async { await listener.giveUp(message, reason, handler) } }
}

/// Handles messages by the rules of one listening.
final class Listener: Sendable {
  let options: ListenOptions
  private let transport: any Transport
  private let identity: String
  private let attempts: Int
  private let letterNumber: UInt64
  private let filterMark: String
  private let seen: SeenMessages
  private let hopeless = HopelessMessages()

  /// Before redelivery of a message that no handler could take, for example because of a lock.
  private static let pause = Duration.milliseconds(100)
  /// Before redelivery of a message whose first delivery has no verdict yet.
  private static let longPause = Duration.seconds(1)
  private static let letterPauses = RetryPolicy.exponential(
    from: .seconds(1), to: .seconds(30), attempts: .max, jitter: false)

  /// - Parameter filter: The subject, which may end with `*`.
  init(_ options: ListenOptions, _ filter: String, _ transport: any Transport) {
    self.options = options
    self.transport = transport
    identity = transport.identity
    // Without a stream no message comes again, so the first failure is final.
    attempts = transport.promises.isAtLeastOnce ? options.retry.attempts : 1
    filterMark = LetterHeaders.mark(of: filter)
    letterNumber = options.group == nil ? .random(in: .min ... .max) : stableHash(filter)
    seen = SeenMessages(options.deduplication)
  }

  /// A stream stores an id once. All members of a group use one id, so they make one letter of a
  /// message, even after a crash. Other listenings that give the message up make letters of their
  /// own. The message's id alone isn't enough: its stream takes the id again after some time. So
  /// the position and its stream are a part, too.
  private func letterID(of message: RemoteMessage) -> String {
    let group = options.group.map { "\($0)." } ?? ""
    let position = message.position.map { "\($0)." } ?? ""
    let number = String(letterNumber ^ stableHash(message.streamMark), radix: 36)
    return "\(LetterHeaders.sendableID(message.boundedIdentity)).dead.\(group)\(position)\(number)"
  }

  /// A message that was sent again for one group is not for the others.
  ///
  /// A program that may publish to the subject can write these headers, too.
  func isForOthers(_ message: RemoteMessage) -> Bool {
    // A lookup takes some 550 instructions, and almost no message has so many headers.
    guard message.headers.count >= 3, let only = message.headers[HeaderName.onlyGroup],
      message.headers[HeaderName.originalID] != nil, message.headers[HeaderName.deadCount] != nil
    else { return false }
    return only != options.group.map { LetterHeaders.only($0, filterMark) }
  }

  /// No handler is called if the message was given up before, or is a repetition.
  ///
  /// - Parameter send: A lane with ``Buffering/suspendingSender(_:)`` takes the payload even if it's
  ///   full, and the caller never sleeps because of an overload. The send belongs to no handler,
  ///   even if a handler calls this method, so no cycle of waits goes through it.
  func begin(_ message: RemoteMessage, _ send: (MessageAccount) -> Completion) -> any BegunMessage {
    if let entry = hopeless.entry(for: message) {
      var message = message
      message.attempt = entry.attempts
      return HopelessMessage(listener: self, message: message, reason: entry.reason, handler: entry.handler)
    }
    switch seen.begin(message) {
    case .handled: return DecidedMessage(decision: .done)
    case .inHand: return DecidedMessage(decision: .release(after: Listener.longPause))
    case .new: break
    }
    let account = MessageAccount(message, over: identity)
    return MessageHandling(listener: self, send: send(account), account: account)
  }

  /// `nil` if the message must be given up: see ``giveUp(_:_:)``.
  ///
  /// A handler that has ended or is locked has not handled the message. If no other one has run,
  /// the message goes back: at once if all of them have ended, because the next delivery finds none
  /// of them.
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

  /// Called once for each handling: a second call could end that of a copy that has begun
  /// meanwhile.
  func end(_ message: RemoteMessage, isHandled: Bool) { seen.end(message, isHandled: isHandled) }

  /// A dead letter never goes to a subject that it came from, or two listenings to each other's
  /// dead letters could pass a message back and forth for ever. While it cannot be stored, the
  /// message is redelivered, but no handler is called.
  ///
  /// - Parameter handler: The name of the handler that failed; `nil` if none got the message.
  func giveUp(_ message: RemoteMessage, _ reason: String, _ handler: String?) async -> Verdict {
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
    letter.headers[HeaderName.deadFilter] = filterMark
    letter.headers[HeaderName.deadAttempts] = "\(message.attempt)"
    letter.headers[HeaderName.deadPosition] = message.position.map { "\($0)" }
    letter.headers[HeaderName.deadHandler] = handler
    letter.headers[HeaderName.originalID] = nil
    letter.headers[HeaderName.onlyGroup] = nil
    letter.headers[HeaderName.deadID] = SubjectWord.escaped(LetterHeaders.sendableID(message.originalID ?? message.id))
    let count = message.headers[HeaderName.deadCount].flatMap { Int($0) } ?? 0
    letter.headers[HeaderName.deadCount] = "\(min(max(0, count), 1 << 30) + 1)"
    do {
      let receipt = try await publish(letter, to: subject)
      hopeless.remove(message)
      return .reject(receipt.isDuplicate ? "\(reason). A message with the id of its dead letter was there" : reason)
    } catch let error as TransportError where error.isLasting {
      hopeless.remove(message)
      return .reject("\(reason). Its dead letter cannot be published: \(error)")
    } catch {
      let tries = hopeless.note(message, reason, handler)
      return .retry(after: Listener.letterPauses.delay(after: tries))
    }
  }

  /// Cuts a letter that is too large until the engine accepts it.
  private func publish(_ letter: RemoteMessage, to subject: String) async throws -> Receipt {
    var letter = letter
    while true {
      do { return try await transport.publish(letter, to: subject) } catch let error as TransportError
        where error.code == .tooLarge
      { guard letter.cutLetter() else { throw error } }
    }
  }
}
