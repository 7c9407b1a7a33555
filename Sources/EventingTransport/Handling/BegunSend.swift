import Eventing

/// The outcome of an occurrence for all handlers, those behind forwards included.
struct DeliveryOutcome: Sendable {
  /// The number of forwards that took the occurrence.
  let forwards: Int
  /// The number of handlers that were called and returned, without interceptors.
  let delivered: Int
  /// The number of handlers that did not get the occurrence because a view, an interceptor or a
  /// failure left them out, and of the interceptors that did so.
  let leftOut: Int
  /// The number of handlers that were skipped because they had ended or were locked.
  let unhandled: Int
  /// The number of handlers that were skipped because of a lock. They are in ``unhandled``, too.
  let locked: Int
  /// The number of handlers that asked for the newest occurrence only, and get a newer one.
  let replaced: Int
  /// The number of handlers that had no room for the occurrence.
  let dropped: Int
  /// The number of handlers that run later and were not waited for.
  let later: Int
  /// The errors that handlers threw.
  let failures: [HandlerFailure]
}

/// An occurrence whose delivery has begun, and whose outcome is awaited later.
///
/// Unless ``knownOutcome`` has an outcome, ``wait()`` must follow, because it runs the `.task`
/// handlers.
struct BegunSend: Sendable {
  private let completion: Completion
  private let account: MessageAccount

  fileprivate init(_ completion: Completion, _ account: MessageAccount) {
    self.completion = completion
    self.account = account
  }

  /// The outcome, if every handler has finished; otherwise `nil`.
  var knownOutcome: DeliveryOutcome? {
    completion.finishedReport.map { account.outcome($0) }
  }

  /// Notes that the transport gets the occurrence back, because it was not handled. Views with
  /// memory forget the occurrence.
  func noteHandedBack() { account.noteHandedBack() }

  /// Waits until every handler has finished, behind forwards too.
  nonisolated(nonsending) func wait() async -> DeliveryOutcome {
    account.outcome(await completion.wait())
  }
}

extension Event {
  /// Begins a send that is awaited later. As with every `send`, a lane with
  /// ``Buffering/suspendingSender(_:)`` takes the payload even if the lane is full. Unlike the
  /// caller of `post`, the caller never sleeps because of an overload.
  ///
  /// The send belongs to no handler, even if a handler calls `begin`. So no cycle of waits goes
  /// through it.
  ///
  /// - Parameters:
  ///   - payload: The payload.
  ///   - origin: The way that the payload came along, for `EventSource.forwardAway`.
  ///   - isRepeated: Whether the payload was delivered before, and a handler failed. Views with
  ///     memory let it pass.
  ///   - makeMark: A closure that makes a mark for each sequence that takes the payload, behind
  ///     forwards too. It runs inside the event, under no mutex.
  nonisolated func begin(
    _ payload: Payload, from origin: (any Sendable)? = nil, isRepeated: Bool = false,
    marking makeMark: (@Sendable () -> any OccurrenceMark)? = nil
  ) -> BegunSend {
    let account = MessageAccount(from: origin, isRepeated: isRepeated, makeMark)
    return BegunSend(begin(payload, accountedIn: account), account)
  }
}

extension KeyedEvent {
  /// Begins a send to a key that is awaited later: see `Event.begin(_:)`.
  func begin(
    _ payload: Payload, to key: Key, from origin: (any Sendable)? = nil, isRepeated: Bool = false,
    marking makeMark: (@Sendable () -> any OccurrenceMark)? = nil
  ) -> BegunSend {
    let account = MessageAccount(from: origin, isRepeated: isRepeated, makeMark)
    return BegunSend(begin(payload, to: key, accountedIn: account), account)
  }
}
