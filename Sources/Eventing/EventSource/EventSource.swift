/// A type to which handlers can be added.
///
/// ``Event``, its views, the keys of a ``KeyedEvent`` and ``Observed`` conform. Give code that must
/// not send an event source instead of an event.
///
/// Every method that adds handlers promises the following:
///
/// - **Order.** Every occurrence sent after the method returns reaches the handler. No occurrence
///   sent before does, except for the values that an ``EventReplay`` repeats and the current value
///   of an ``Observed``, which come first.
/// - **Concurrency.** Callable from any thread or task without `await`. It never waits for a
///   handler. If more than 256 additions are queued, the caller also sleeps for some microseconds.
/// - **Inside a handler.** A handler that is added while an occurrence is being delivered doesn't
///   receive that occurrence, but only later ones.
/// - **After the end.** A handler that is added after ``HandlerRegistry/finish()`` ends at once.
/// - **Complexity.** O(1) if all handlers have the same priority, otherwise O(log priorities), and
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
  /// - Returns: A token that identifies the handler. Dropping it has no effect.
  @discardableResult nonisolated func add(_ handler: Handler<Payload>) -> HandlerToken
  /// Adds handlers as a group: each occurrence reaches either all of them or none.
  ///
  /// - Parameter handlers: The handlers. Those of equal priority are called in this order.
  /// - Returns: A token for each handler, in the order of `handlers`.
  /// - Complexity: That of adding one handler, for each of `handlers`.
  @discardableResult nonisolated func add(contentsOf handlers: [Handler<Payload>]) -> [HandlerToken]
  /// Removes a handler, as ``HandlerRegistry/remove(_:)`` does.
  ///
  /// - Returns: Whether this call removed the handler: `false` if it had already ended or belongs
  ///   to another event.
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
    // The cast is free in a release build, because the compiler knows the type of the source.
    if options.isEmpty, case .inline = delivery.place, let event = self as? Event<Payload> {
      return event.addInline(once: once, .whileDebugging(fileID, line), body)
    }
    return addDetailed(options, delivery, once, SourceLine(fileID, line), body)
  }

  /// Not inlined, to keep call sites small.
  @inlinable @inline(never) nonisolated func addDetailed(
    _ options: [HandlerOption<Payload>], _ delivery: SyncDelivery, _ once: Bool, _ source: SourceLine,
    _ body: @escaping @Sendable (Payload) throws -> Void
  ) -> HandlerToken {
    add(Handler(delivery.place, HandlerBody(sync: body), options, source, once: once))
  }
}

// These views convert payloads inline, in order, where the event delivers, and don't buffer. A
// view's closure is called once per handler and occurrence. The handler then runs on its own
// delivery. A view keeps its event alive.

extension EventSource {
  /// Returns a view whose handlers receive the result of a closure for each payload.
  ///
  /// The closure runs inline, on the thread that delivers, once per handler and occurrence, even if
  /// the handler runs elsewhere, so keep it short. It may call any method of any event. It isn't
  /// called for a locked handler. The view keeps its event alive; a handler added through it
  /// doesn't.
  ///
  /// - Parameter transform: The closure that converts a payload.
  /// - Returns: A view of the transformed payloads.
  /// - Complexity: O(1).
  @inlinable public nonisolated func map<Output: Sendable>(_ transform: @escaping @Sendable (Payload) -> Output)
    -> some EventSource<Output>
  {
    ConvertedSource(base: self, convert: transform)
  }

  /// Returns a view whose handlers receive the non-`nil` results of a closure: see ``map(_:)``.
  ///
  /// If the result is `nil`, the handler isn't called, and the ``SendReport`` counts it as skipped.
  /// A once handler isn't used up.
  @inlinable public nonisolated func compactMap<Output: Sendable>(_ transform: @escaping @Sendable (Payload) -> Output?)
    -> some EventSource<Output>
  {
    ConvertedSource(base: self, convert: transform)
  }

  /// Returns a view whose handlers receive the payloads that satisfy a predicate: see ``map(_:)``.
  ///
  /// If the result is `false`, the handler isn't called, and the ``SendReport`` counts it as
  /// skipped. A once handler isn't used up.
  @inlinable public nonisolated func filter(_ isIncluded: @escaping @Sendable (Payload) -> Bool) -> some EventSource<
    Payload
  > {
    ConvertedSource(base: self, letter: .same) { isIncluded($0) ? $0 : nil }
  }

  /// A view whose handlers are called without the payload: see ``map(_:)``.
  @inlinable public nonisolated var signal: some EventSource<Void> {
    ConvertedSource(base: self, letter: Payload.self == Void.self ? .same : .lost) { _ in () }
  }
}

/// A source whose handlers are added to another source, as handlers of that source's payloads.
@usableFromInline protocol ViewSource<Payload>: EventSource {
  associatedtype Base: EventSource

  var base: Base { get }
  func converted(_ handler: Handler<Payload>) -> Handler<Base.Payload>
}

extension ViewSource {
  @inlinable func add(contentsOf handlers: [Handler<Payload>]) -> [HandlerToken] {
    base.add(contentsOf: handlers.map(converted))
  }
  @inlinable func add(_ handler: Handler<Payload>) -> HandlerToken { base.add(converted(handler)) }
  @inlinable func remove(_ token: HandlerToken) -> Bool { base.remove(token) }
}

@usableFromInline struct ConvertedSource<Base: EventSource, Payload: Sendable>: ViewSource {
  @usableFromInline let base: Base
  /// Recreates the payload of `base` for a dead letter. A filter returns the payload itself.
  @usableFromInline let letter: LetterPayload
  @usableFromInline let convert: @Sendable (Base.Payload) -> Payload?

  @inlinable init(base: Base, letter: LetterPayload = .lost, convert: @escaping @Sendable (Base.Payload) -> Payload?) {
    self.base = base
    self.letter = letter
    self.convert = convert
  }

  @inlinable func converted(_ handler: Handler<Payload>) -> Handler<Base.Payload> {
    var converted = handler.viewed(convert)
    converted.options.letter = handler.options.letter.behind(letter)
    return converted
  }
}

extension EventSource {
  /// Adds a handler for the duration of `body` and then removes it, even if `body` throws.
  ///
  /// The handler is added before `body` begins. A call that another thread began just before the
  /// removal may still be running when this returns; ``HandlerRegistry/quiesce()`` waits for it.
  /// `body` runs on the caller's actor. You can await this inside a handler.
  ///
  /// - Parameters:
  ///   - handler: The handler.
  ///   - body: The work to do while the handler exists.
  /// - Returns: The result of `body`.
  /// - Throws: The error that `body` throws. Errors of the handler are in the reports.
  @discardableResult public nonisolated(nonsending) func withHandler<Result, Failure: Error>(
    _ handler: Handler<Payload>, _ body: nonisolated(nonsending) () async throws(Failure) -> Result
  ) async throws(Failure) -> Result {
    let token = add(handler)
    defer { remove(token) }
    return try await body()
  }
}
