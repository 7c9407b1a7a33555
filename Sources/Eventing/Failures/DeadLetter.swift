/// A payload that a handler failed at, after its last attempt.
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
  /// A source of the payloads at which a handler failed, after its last attempt.
  ///
  ///     orders.deadLetters.addHandler { letter in try await store(letter.payload) }
  ///
  /// The failure is in ``failures``, too. A handler without retries makes a letter with each
  /// failure; a batch makes one for each of its payloads. Some handlers receive values that a view
  /// makes of the payloads: ``EventSource/map(_:)``, ``EventSource/compactMap(_:)``,
  /// ``EventSource/signal`` or ``EventSource/occurrences``. Such a handler makes no letters if it
  /// is on a lane, and none of an occurrence that waited for its pace.
  ///
  /// A letter is sent as soon as the handler has failed. A ``send(_:from:)`` does not wait for the
  /// handlers of letters; ``HandlerRegistry/quiesce()`` does. Failures from before the first access
  /// to this property make no letters. The source does not keep the event alive.
  public nonisolated var deadLetters: some EventSource<DeadLetter<Payload>> {
    let failures = core.anchor.failures()
    let made = DeadLetters(Payload.self)
    let letters = failures.deadLettersReference.load() ?? failures.deadLettersReference.set(made)
    guard let event = letters.event as? Event<DeadLetter<Payload>> else {
      preconditionFailure("the dead letters of an event have its payloads")
    }
    return event.source
  }
}

/// The event of dead letters, with its payload type erased.
final class DeadLetters: Sendable {
  /// The event, an `Event` of dead letters.
  let event: any AnyObject & Sendable
  /// The core of `event`.
  let core: EventCore
  private let postWhole: @Sendable (BorrowedPayload, HandlerFailure) -> Void

  init<Payload: Sendable>(_ type: Payload.Type) {
    let event = Event<DeadLetter<Payload>>("dead letters")
    self.event = event
    core = event.core
    postWhole = { payload, failure in event.post(DeadLetter(payload: payload.payload(), failure: failure)) }
  }

  /// Posts a letter with a payload of the event.
  func post(_ payload: BorrowedPayload, _ failure: HandlerFailure) { postWhole(payload, failure) }

  /// Posts a letter with the payload of the event that `letter` gets from one that the handler
  /// received, if it gets one.
  func post(_ received: BorrowedPayload, _ letter: LetterPayload, _ failure: HandlerFailure) {
    letter.withPayload(from: received) { if let whole = $0 { postWhole(whole, failure) } }
  }
}

/// How a dead letter gets a payload of the event from one that a handler received.
@usableFromInline enum LetterPayload: Sendable {
  /// The handler receives the payloads of the event.
  case same
  /// A view stands before the handler, and the closure makes the payload of the event again; `nil`
  /// if it cannot.
  case made(@Sendable (BorrowedPayload) -> OwnedPayload?)
  /// A view stands before the handler, and the payload of the event cannot be made again.
  case lost

  /// Returns how a dead letter gets the payload if it was cast to the type that the handler
  /// receives.
  static func cast<Payload: Sendable, Received: Sendable>(
    of type: Payload.Type, to received: Received.Type
  ) -> LetterPayload {
    if Payload.self == Received.self { return .same }
    return .made { received in
      guard let payload = received.payload(Received.self) as? Payload else { return nil }
      return OwnedPayload(payload)
    }
  }

  /// Calls a closure with the payload of the event; with `nil` if it cannot be made again.
  func withPayload<Result>(from received: BorrowedPayload, _ body: (BorrowedPayload?) -> Result) -> Result {
    switch self {
    case .same: return body(received)
    case .made(let make):
      guard let whole = make(received) else { return body(nil) }
      return body(whole.borrowed)
    case .lost: return body(nil)
    }
  }

  /// Returns how a dead letter gets the payload if a view stands before the handler, too.
  ///
  /// - Parameter view: How the payload before the view is made of the one behind it.
  @usableFromInline func behind(_ view: LetterPayload) -> LetterPayload {
    switch (self, view) {
    case (_, .same): self
    case (.same, _): view
    case (.made(let inner), .made(let outer)):
      .made { received in
        guard let whole = inner(received) else { return nil }
        return outer(whole.borrowed)
      }
    case (.lost, _), (_, .lost): .lost
    }
  }
}
