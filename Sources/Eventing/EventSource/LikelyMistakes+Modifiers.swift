// Unavailable names: modifiers of handlers, which a program may call by mistake on an event, or on
// the result of `addHandler`. The compiler shows what to write instead.

extension EventSource {
  @available(
    *, unavailable, message: "a handler has a pace: event.add(Handler { … }.debounced(for: .milliseconds(300)))"
  )
  public nonisolated func debounced(for pause: Duration) -> Self { fatalError("unavailable") }

  @available(
    *, unavailable, message: "a handler has a pace: event.add(Handler { … }.debounced(for: .milliseconds(300)))"
  )
  public nonisolated func debounce(for pause: Duration) -> Self { fatalError("unavailable") }

  @available(
    *, unavailable, message: "a handler has a pace: event.add(Handler { … }.throttled(every: .milliseconds(100)))"
  )
  public nonisolated func throttled(every interval: Duration) -> Self { fatalError("unavailable") }

  @available(
    *, unavailable, message: "a handler has a pace: event.add(Handler { … }.throttled(every: .milliseconds(100)))"
  )
  public nonisolated func throttle(for interval: Duration) -> Self { fatalError("unavailable") }
}

extension HandlerToken {
  @available(
    *, unavailable, message: "modify the handler before it is added: event.add(Handler { … }.retrying(policy))"
  )
  @discardableResult public func retrying(
    _ policy: RetryPolicy, if isRetried: @escaping @Sendable (any Error) -> Bool = { _ in true }
  ) -> HandlerToken { fatalError("unavailable") }

  @available(
    *, unavailable,
    message: "modify the handler before it is added: event.add(Handler { … }.timingOut(after: .seconds(5)))"
  )
  @discardableResult public func timingOut(after limit: Duration) -> HandlerToken { fatalError("unavailable") }

  @available(
    *, unavailable, message: "say it when the handler is added: event.addHandler(on: .restarting) { … }"
  )
  @discardableResult public func restarting() -> HandlerToken { fatalError("unavailable") }

  @available(
    *, unavailable, message: "modify the handler: event.add(Handler(on: .concurrent(limit: 8)) { … }.inOrder(by: key))"
  )
  @discardableResult public func inOrder<Payload, Key>(by key: (Payload) -> Key) -> HandlerToken {
    fatalError("unavailable")
  }

  @available(
    *, unavailable, message: "modify the handler: event.add(Handler(on: .concurrent(limit: 8)) { … }.inOrder(by: key))"
  )
  @discardableResult public func inOrder(by key: (PayloadOfAnyType) -> PayloadOfAnyType) -> HandlerToken {
    fatalError("unavailable")
  }

  /// A stand-in for the payload in `token.inOrder(by: \.key)`, where the compiler cannot infer the
  /// payload's type. This type has a property of any name. So the compiler accepts the key path,
  /// and shows the message of `inOrder(by:)` above.
  @dynamicMemberLookup public enum PayloadOfAnyType {
    public subscript(dynamicMember name: String) -> PayloadOfAnyType { fatalError("unavailable") }
  }

  @available(
    *, unavailable,
    message: "modify the handler before it is added: event.add(Handler { … }.debounced(for: .milliseconds(300)))"
  )
  @discardableResult public func debounced(for pause: Duration) -> HandlerToken { fatalError("unavailable") }

  @available(
    *, unavailable,
    message: "modify the handler before it is added: event.add(Handler { … }.throttled(every: .milliseconds(100)))"
  )
  @discardableResult public func throttled(every interval: Duration) -> HandlerToken { fatalError("unavailable") }

  @available(*, unavailable, message: "an event has dead letters: event.deadLetters.addHandler { letter in … }")
  public var deadLetters: Event<DeadLetter<String>> { fatalError("unavailable") }
}
