/// A type that handlers can be added to.
///
/// ``Event``, its views, the keys of a ``KeyedEvent`` and ``Observed`` conform. Hand out an event
/// source instead of an event to code that must not send.
///
/// Every adding method is declared here, and each promises:
///
/// - **Order.** Every occurrence sent after the method has returned reaches the handler. No
///   occurrence sent before does, except for the values that an ``EventReplay`` repeats.
/// - **Concurrency.** Callable from any thread or task without `await`. It never waits for a
///   handler. If more than 256 adds are queued, the caller also sleeps for some microseconds.
/// - **Inside a handler.** A handler that is added while an occurrence is being delivered does not
///   receive that one. The first that it receives is a later one.
/// - **After the end.** A handler that is added after ``HandlerRegistry/finish()`` ends at once.
/// - **Complexity.** O(1) if all handlers have one priority, O(log priorities) otherwise, and
///   O(priorities) for the first handler of a priority.
///
/// ## Conforming to EventSource
///
/// Code outside this library conforms only by wrapping another source, because only the library
/// makes a ``HandlerToken``. The wrapped source has the same `Payload`; to convert payloads, wrap
/// the result of ``map(_:)``, ``compactMap(_:)`` or ``filter(_:)``. A conformance has at least
/// ``add(_:)-([Handler<Payload>])``, ``attach(_:)`` and ``remove(_:)``, and forwards each of them
/// to the wrapped source:
///
///     struct OwningSource: EventSource {
///       let event: Event<Int>
///       let owner: Controller
///
///       func add(_ handlers: [Handler<Int>]) -> [HandlerToken] {
///         event.add(handlers.map { $0.owned(by: owner) })
///       }
///       func attach(_ handler: Handler<Int>) -> HandlerToken {
///         event.attach(handler.owned(by: owner))
///       }
///       func remove(_ token: HandlerToken) -> Bool { event.remove(token) }
///     }
///
/// A conformance must promise:
///
/// - It forwards every call before it returns, never later and never to a task: otherwise the order
///   above does not hold.
/// - It forwards a handler once. It may change the handler first, by its modifiers, such as
///   ``Handler/named(_:)`` or ``Handler/owned(by:)``.
/// - It forwards a group in one call, and returns the wrapped source's tokens in their order.
/// - It may be called from several threads at once, and inside handlers. It does not block.
/// - It holds the wrapped source strongly.
/// - It leaves ``attachInline(once:fileID:line:_:)`` to the default if ``attach(_:)`` changes
///   handlers. Otherwise a handler that is added without options would miss the change.
public protocol EventSource<Payload>: Sendable {
  /// The type of the values that handlers receive.
  associatedtype Payload: Sendable

  /// Adds handlers as a group: an occurrence reaches all of them or none.
  ///
  /// - Parameter handlers: The handlers. They are called in this order if their priorities are
  ///   equal.
  /// - Returns: A token for each handler, in the order of `handlers`.
  /// - Complexity: As for one handler, for each of `handlers`.
  @discardableResult nonisolated func add(_ handlers: [Handler<Payload>]) -> [HandlerToken]
  /// Adds a handler. Every adding method ends here or in ``attachInline(once:fileID:line:_:)``.
  ///
  /// - Returns: A token that names the handler. Dropping it changes nothing.
  @discardableResult nonisolated func attach(_ handler: Handler<Payload>) -> HandlerToken
  /// Adds an inline handler that has no name, priority or owner.
  ///
  /// The default calls ``attach(_:)``. ``Event`` has a faster implementation.
  ///
  /// - Parameters:
  ///   - once: Whether the handler is called at most once.
  ///   - fileID: The file where the handler was made: see ``HandlerToken/fileID``.
  ///   - line: The line where the handler was made.
  ///   - body: The closure that is called with each payload.
  /// - Returns: A token that names the handler. Dropping it changes nothing.
  @discardableResult nonisolated func attachInline(
    once: Bool, fileID: StaticString, line: UInt, _ body: @escaping @Sendable (Payload) throws -> Void
  ) -> HandlerToken
  /// Removes a handler, as ``HandlerRegistry/remove(_:)`` does.
  ///
  /// - Returns: Whether the handler was removed by this call: `false` if it had ended before, or
  ///   belongs to another event.
  @discardableResult nonisolated func remove(_ token: HandlerToken) -> Bool
}

extension EventSource {
  /// Adds handlers as a group: see ``add(_:)-([Handler<Payload>])``.
  @discardableResult public nonisolated func add(_ handlers: Handler<Payload>...) -> [HandlerToken] { add(handlers) }

  /// Adds an inline handler without options by calling ``attach(_:)``.
  @inlinable @discardableResult public nonisolated func attachInline(
    once: Bool, fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (Payload) throws -> Void
  ) -> HandlerToken {
    let handler = Handler(fileID: fileID, line: line, body)
    return attach(once ? handler.once() : handler)
  }

  /// Adds a synchronous handler, by `attachInline` if it is inline and has no name or priority.
  @inlinable @inline(__always) nonisolated func attachSync(
    _ delivery: SyncDelivery, _ name: String?, _ priority: Int, _ once: Bool, _ fileID: StaticString, _ line: UInt,
    _ body: @escaping @Sendable (Payload) throws -> Void
  ) -> HandlerToken {
    if name == nil, priority == 0, case .inline = delivery.place {
      return attachInline(once: once, fileID: fileID, line: line, body)
    }
    return attachDetailed(delivery, name, priority, once, SourceLine(fileID, line), body)
  }

  /// Adds a synchronous handler that is not inline, or has a name or priority. Not inlined, so that
  /// call sites stay small.
  @inlinable @inline(never) nonisolated func attachDetailed(
    _ delivery: SyncDelivery, _ name: String?, _ priority: Int, _ once: Bool, _ source: SourceLine,
    _ body: @escaping @Sendable (Payload) throws -> Void
  ) -> HandlerToken {
    let handler = Handler<Payload>(delivery.place, .direct(HandlerClosure<Payload>(body).erased), source)
    return attach(handler, name, priority, once)
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
