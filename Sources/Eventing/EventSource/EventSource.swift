/// A type that handlers can be added to.
///
/// ``Event``, its views, the keys of a ``KeyedEvent`` and ``Observed`` conform. Hand out an event
/// source instead of an event to code that must not send.
///
/// Every adding method is declared here, and each promises:
///
/// - **Order.** Every occurrence sent after the method has returned reaches the handler. No
///   occurrence sent before does, except the values that an ``EventReplay`` repeats, and the current
///   value of an ``Observed``, which comes first.
/// - **Concurrency.** Callable from any thread or task without `await`. It never waits for a
///   handler. If more than 256 adds are queued, the caller also sleeps for some microseconds.
/// - **Inside a handler.** A handler that is added while an occurrence is being delivered does not
///   receive that one. The first that it receives is a later one.
/// - **After the end.** A handler that is added after ``HandlerRegistry/finish()`` ends at once.
/// - **Complexity.** O(1) if all handlers have one priority, O(log priorities) otherwise, and
///   O(priorities) for the first handler of a priority.
///
/// Only this library and wrappers of its types conform. A wrapper must forward each requirement
/// immediately, and exactly once, to the source that it holds. It may use ``Handler/with(_:)`` to
/// give handlers a name, tags, a priority or ``HandlerOption/once``.
public protocol EventSource<Payload>: Sendable {
  /// The type of the values that handlers receive.
  associatedtype Payload: Sendable

  /// Adds a handler.
  ///
  /// - Returns: A token that names the handler. Dropping it changes nothing.
  @discardableResult nonisolated func add(_ handler: Handler<Payload>) -> HandlerToken
  /// Adds handlers as a group: an occurrence reaches all of them or none.
  ///
  /// - Parameter handlers: The handlers. They are called in this order if their priorities are
  ///   equal.
  /// - Returns: A token for each handler, in the order of `handlers`.
  /// - Complexity: As for one handler, for each of `handlers`.
  @discardableResult nonisolated func add(contentsOf handlers: [Handler<Payload>]) -> [HandlerToken]
  /// Removes a handler, as ``HandlerRegistry/remove(_:)`` does.
  ///
  /// - Returns: Whether the handler was removed by this call: `false` if it had ended before, or
  ///   belongs to another event.
  @discardableResult nonisolated func remove(_ token: HandlerToken) -> Bool
}

extension EventSource {
  /// Adds two or more handlers as a group: see ``add(contentsOf:)``.
  @discardableResult public nonisolated func add(
    _ first: Handler<Payload>, _ second: Handler<Payload>, _ more: Handler<Payload>...
  ) -> [HandlerToken] { add(contentsOf: [first, second] + more) }

  @inlinable @inline(__always) nonisolated func addSync(
    _ options: [HandlerOption<Payload>], _ delivery: SyncDelivery, once: Bool, _ fileID: StaticString, _ line: UInt,
    _ body: @escaping @Sendable (Payload) throws -> Void
  ) -> HandlerToken {
    // The cast costs nothing in a release build, where the compiler knows the type of the source.
    if options.isEmpty, case .inline = delivery.place, let event = self as? Event<Payload> {
      return event.addInline(once: once, .whileDebugging(fileID, line), body)
    }
    return addDetailed(options, delivery, once, SourceLine(fileID, line), body)
  }

  /// Not inlined, so that call sites stay small.
  @inlinable @inline(never) nonisolated func addDetailed(
    _ options: [HandlerOption<Payload>], _ delivery: SyncDelivery, _ once: Bool, _ source: SourceLine,
    _ body: @escaping @Sendable (Payload) throws -> Void
  ) -> HandlerToken {
    add(Handler(delivery.place, HandlerBody(sync: body), options, source, once: once))
  }
}
