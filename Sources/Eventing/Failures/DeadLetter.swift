/// A payload that a handler could not handle, even at its last attempt.
public struct DeadLetter<Payload: Sendable>: Sendable {
  /// The payload.
  public let payload: Payload
  /// The handler and its last error.
  public let failure: HandlerFailure
}

extension DeadLetter: CustomStringConvertible {
  /// One line for a log.
  public var description: String { "\(payload): \(failure), \(failure.attempts) attempts" }
}

extension Event {
  /// A source of the payloads that a handler could not handle, even at its last attempt.
  ///
  ///     orders.deadLetters.addHandler { letter in try await store(letter.payload) }
  ///
  /// The failure is also sent to ``failures``. A handler without retries creates a letter for each
  /// failure; a batch creates one for each of its payloads. Some handlers receive values that a
  /// view derives from the payloads: ``EventSource/map(_:)``, ``EventSource/compactMap(_:)``,
  /// ``EventSource/signal`` or ``EventSource/occurrences``. Such a handler creates no letters if
  /// it's on a lane, and none for an occurrence that waited for its pace.
  ///
  /// A letter is sent as soon as the handler has failed. ``send(_:from:)`` doesn't wait for the
  /// handlers of letters; ``HandlerRegistry/quiesce()`` does. Failures from before the first access
  /// to this property create no letters. The source doesn't keep the event alive.
  public nonisolated var deadLetters: some EventSource<DeadLetter<Payload>> {
    let failures = core.anchor.failures()
    let letters = failures.deadLettersReference.load() ?? failures.deadLettersReference.set(DeadLetters(Payload.self))
    guard let event = letters.event as? Event<DeadLetter<Payload>> else {
      preconditionFailure("the dead letters of an event have its payloads")
    }
    return event.source
  }
}

final class DeadLetters: Sendable {
  let event: any AnyObject & Sendable
  let core: EventCore
  let post: @Sendable (BorrowedPayload, HandlerFailure) -> Void

  init<Payload: Sendable>(_ type: Payload.Type) {
    let event = Event<DeadLetter<Payload>>("dead letters")
    self.event = event
    core = event.core
    post = { payload, failure in event.post(DeadLetter(payload: payload.payload(), failure: failure)) }
  }

  func post(_ received: BorrowedPayload, _ letter: LetterPayload, _ failure: HandlerFailure) {
    letter.withPayload(from: received) { if let whole = $0 { post(whole, failure) } }
  }
}

@usableFromInline enum LetterPayload: Sendable {
  case same
  /// `nil` if the event's payload can't be recreated.
  case made(@Sendable (BorrowedPayload) -> OwnedPayload?)

  @usableFromInline static var lost: LetterPayload { .made { _ in nil } }

  static func cast<Payload: Sendable, Received: Sendable>(
    of type: Payload.Type, to received: Received.Type
  ) -> LetterPayload {
    if Payload.self == Received.self { return .same }
    return .made { received in
      guard let payload = received.payload(Received.self) as? Payload else { return nil }
      return OwnedPayload(payload)
    }
  }

  func withPayload<Result>(from received: BorrowedPayload, _ body: (BorrowedPayload?) -> Result) -> Result {
    switch self {
    case .same: return body(received)
    case .made(let make):
      guard let whole = make(received) else { return body(nil) }
      return body(whole.borrowed)
    }
  }

  @usableFromInline func behind(_ view: LetterPayload) -> LetterPayload {
    switch (self, view) {
    case (_, .same): self
    case (.same, _): view
    case (.made(let inner), .made(let outer)):
      .made { received in
        guard let whole = inner(received) else { return nil }
        return outer(whole.borrowed)
      }
    }
  }
}
