public import Dispatch

// Unavailable overloads for likely mistakes. The compiler shows their messages, which say what to
// write instead.

extension EventSource {
  @available(*, unavailable, message: "label the name: addHandler(named: \"…\") { … }")
  @discardableResult public nonisolated func addHandler(
    _ name: String, on delivery: SyncDelivery = .inline, priority: Int = 0,
    _ body: @escaping @Sendable (Payload) throws -> Void
  ) -> HandlerToken { fatalError("unavailable") }

  @available(*, unavailable, message: "label the name: addHandler(named: \"…\") { … }")
  @discardableResult public nonisolated func addHandler(
    _ name: String, on delivery: AsyncDelivery = .inOrder, priority: Int = 0,
    _ body: @escaping @Sendable (Payload) async throws -> Void
  ) -> HandlerToken { fatalError("unavailable") }

  @available(*, unavailable, message: "label the name: addHandler(named: \"…\", on: .main) { … }")
  @discardableResult public nonisolated func addHandler(
    _ name: String, on delivery: MainDelivery, priority: Int = 0,
    _ body: @escaping @MainActor @Sendable (Payload) async throws -> Void
  ) -> HandlerToken { fatalError("unavailable") }

  @available(*, unavailable, message: "give the flag: addHandler(on: .main, once: true, owner: …) { … }")
  @discardableResult public nonisolated func once<Owner: AnyObject & Sendable>(
    named name: String? = nil, on delivery: MainDelivery, owner: Owner,
    _ body: @escaping @MainActor @Sendable (Owner, Payload) async throws -> Void
  ) -> HandlerToken { fatalError("unavailable") }

  @available(*, unavailable, message: "give the flag: addHandler(once: true, owner: …) { … }")
  @discardableResult public nonisolated func once<Owner: AnyObject & Sendable>(
    named name: String? = nil, owner: Owner, _ body: @escaping @Sendable (Owner, Payload) async throws -> Void
  ) -> HandlerToken { fatalError("unavailable") }
}

extension EventSource {
  @available(*, unavailable, message: "tags are given to a handler: add(Handler { … }.tagged(\"…\"))")
  @discardableResult public nonisolated func addHandler(
    named name: String? = nil, tagged tag: String, _ body: @escaping @Sendable (Payload) async throws -> Void
  ) -> HandlerToken { fatalError("unavailable") }
}

extension Handler {
  @available(*, unavailable, message: "where it runs is said when it is made: Handler(on: .background) { … }")
  public func on(_ delivery: SyncDelivery) -> Handler { fatalError("unavailable") }
  @available(*, unavailable, message: "where it runs is said when it is made: Handler(on: .main) { … }")
  public func on(_ delivery: MainDelivery) -> Handler { fatalError("unavailable") }
}

extension KeyedEvent {
  @available(
    *, unavailable, message: "say the key: post(payload, to: key); for handlers of no key, postUntargeted(payload)"
  )
  public func post(_ payload: Payload) { fatalError("unavailable") }
  @available(
    *, unavailable, message: "say the key: send(payload, to: key); for handlers of no key, sendUntargeted(payload)"
  )
  public func send(_ payload: Payload) async -> SendReport { fatalError("unavailable") }
}

extension AsyncDelivery {
  /// Unavailable: an asynchronous handler cannot run inline.
  @available(
    *, unavailable,
    message:
      "an inline handler cannot wait; leave out 'on:' for an asynchronous handler, or make the closure synchronous"
  )
  public static var inline: AsyncDelivery { fatalError("unavailable") }

  /// Unavailable: an asynchronous handler cannot run on a dispatch queue.
  @available(
    *, unavailable,
    message: "a dispatch queue runs synchronous handlers only; use 'on: .background' for a closure that awaits"
  )
  public static func queue(_ queue: DispatchQueue, buffering: Buffering = .unbounded) -> AsyncDelivery {
    fatalError("unavailable")
  }
}
