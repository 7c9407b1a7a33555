/// What one can listen to. Give it away instead of an event to those who must not send.
///
/// `Event` and its views conform. Every adding verb is here; all of them make a ``Handler`` and ``attach(_:)`` it, so all of them promise the same:
///
/// - Effective on return: every occurrence sent after it reaches the handler, none sent before does.
/// - Callable from any thread, task and handler, without `await`. A handler that is added while an occurrence is being delivered waits for the next.
/// - Complexity: O(1); O(priorities) where handlers have many different ones.
public protocol EventSource<Payload>: Sendable {
  /// What its handlers are called with.
  associatedtype Payload: Sendable

  /// Adds handlers as a group: every one of them sees an occurrence, or none.
  @discardableResult nonisolated func add(_ handlers: [Handler<Payload>]) -> [HandlerToken]
  /// Adds a handler: what every adding verb comes down to.
  @discardableResult nonisolated func attach(_ handler: Handler<Payload>) -> HandlerToken
  /// Adds an inline handler that has nothing else: the same as ``attach(_:)``, in a third of the time. There is a default.
  @discardableResult nonisolated func attachInline(
    once: Bool, _ body: @escaping @Sendable (Payload) throws -> Void
  ) -> HandlerToken
  /// Removes a handler; false if it was gone, or is another event's. See ``Event/remove(_:)-(HandlerToken)``.
  @discardableResult nonisolated func remove(_ token: HandlerToken) -> Bool
}

extension EventSource {
  /// Adds handlers as a group: every one of them sees an occurrence, or none.
  @discardableResult public nonisolated func add(_ handlers: Handler<Payload>...) -> [HandlerToken] { add(handlers) }

  /// Adds an inline handler that has nothing else.
  @inlinable @discardableResult public nonisolated func attachInline(
    once: Bool, _ body: @escaping @Sendable (Payload) throws -> Void
  ) -> HandlerToken {
    attach(once ? Handler(body).once() : Handler(body))
  }

  /// A synchronous handler, the quick way where that will do.
  @inlinable @inline(__always) nonisolated func attachSync(
    _ delivery: Delivery, _ name: String?, _ priority: Int, _ once: Bool,
    _ body: @escaping @Sendable (Payload) throws -> Void
  ) -> HandlerToken {
    if name == nil, priority == 0, case .inline = delivery.place { return attachInline(once: once, body) }
    return attach(Handler(on: delivery, body), name, priority, once)
  }

  @inlinable nonisolated func attach(
    _ handler: Handler<Payload>, _ name: String?, _ priority: Int, _ once: Bool, _ owner: Owner? = nil
  ) -> HandlerToken {
    var handler = handler
    handler.options.name = name
    handler.options.priority = priority
    handler.options.owner = owner
    handler.options.isOwnerBound = owner != nil
    handler.isOnce = once
    return attach(handler)
  }
}
