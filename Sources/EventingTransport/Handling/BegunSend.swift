import Eventing

struct DeliveryOutcome: Sendable {
  let forwards: Int
  /// Interceptors do not count.
  let delivered: Int
  /// Left out by a view, an interceptor or a failure, and the interceptors that did so.
  let leftOut: Int
  /// Handlers that were skipped because they had ended or were locked.
  let unhandled: Int
  /// Included in ``unhandled``.
  let locked: Int
  let replaced: Int
  let dropped: Int
  /// Handlers that run later, and are not waited for.
  let later: Int
  let failures: [HandlerFailure]
}

/// Unless ``knownOutcome`` has an outcome, ``wait()`` must follow, because it runs the `.task`
/// handlers.
struct BegunSend: Sendable {
  private let completion: Completion
  private let account: MessageAccount

  fileprivate init(_ completion: Completion, _ account: MessageAccount) {
    self.completion = completion
    self.account = account
  }

  var knownOutcome: DeliveryOutcome? {
    completion.finishedReport.map { account.outcome($0) }
  }

  /// The transport gets the occurrence back, and views with memory forget it.
  func noteHandedBack() { account.noteHandedBack() }

  /// Waits for handlers behind forwards, too.
  nonisolated(nonsending) func wait() async -> DeliveryOutcome {
    account.outcome(await completion.wait())
  }
}

extension Event {
  /// A lane with ``Buffering/suspendingSender(_:)`` takes the payload even if it's full, and the
  /// caller never sleeps because of an overload. The send belongs to no handler, even if a handler
  /// calls `begin`, so no cycle of waits goes through it.
  ///
  /// - Parameters:
  ///   - isRepeated: The payload was delivered before, and a handler failed. Views with memory let
  ///     it pass.
  ///   - makeMark: Makes a mark for each sequence that takes the payload. Runs inside the event,
  ///     under no mutex.
  nonisolated func begin(
    _ payload: Payload, from origin: (any Sendable)? = nil, isRepeated: Bool = false,
    marking makeMark: (@Sendable () -> any OccurrenceMark)? = nil
  ) -> BegunSend {
    let account = MessageAccount(from: origin, isRepeated: isRepeated, makeMark)
    return BegunSend(begin(payload, accountedIn: account), account)
  }
}

extension KeyedEvent {
  func begin(
    _ payload: Payload, to key: Key, from origin: (any Sendable)? = nil, isRepeated: Bool = false,
    marking makeMark: (@Sendable () -> any OccurrenceMark)? = nil
  ) -> BegunSend {
    let account = MessageAccount(from: origin, isRepeated: isRepeated, makeMark)
    return BegunSend(begin(payload, to: key, accountedIn: account), account)
  }
}
