// These views convert payloads inline, in order, where the event delivers, and buffer nothing. The
// closure of a view is called once for each handler and occurrence. The handler then runs where it
// was added to run. A view keeps its event alive.

extension EventSource {
  /// Returns a view whose handlers receive the result of a closure for each payload.
  ///
  /// The closure runs inline, on the thread that delivers, once for each handler and occurrence,
  /// even if the handler runs elsewhere. Keep it short. It may call any method of any event. It is
  /// not called for a locked handler. The view keeps its event alive; a handler added through it
  /// does not.
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
  /// If the result is `nil`, the handler is not called, and the ``SendReport`` counts it as
  /// skipped. That does not use up a once handler.
  @inlinable public nonisolated func compactMap<Output: Sendable>(_ transform: @escaping @Sendable (Payload) -> Output?)
    -> some EventSource<Output>
  {
    ConvertedSource(base: self, convert: transform)
  }

  /// Returns a view whose handlers receive the payloads that satisfy a predicate: see ``map(_:)``.
  ///
  /// If the predicate is false, the handler is not called, and the ``SendReport`` counts it as
  /// skipped. That does not use up a once handler.
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

@usableFromInline struct ConvertedSource<Base: EventSource, Payload: Sendable>: EventSource {
  @usableFromInline let base: Base
  /// Makes the payload of `base` for a dead letter. A filter returns the payload itself.
  @usableFromInline let letter: LetterPayload
  @usableFromInline let convert: @Sendable (Base.Payload) -> Payload?

  @inlinable init(base: Base, letter: LetterPayload = .lost, convert: @escaping @Sendable (Base.Payload) -> Payload?) {
    self.base = base
    self.letter = letter
    self.convert = convert
  }

  @inlinable func add(contentsOf handlers: [Handler<Payload>]) -> [HandlerToken] {
    base.add(contentsOf: handlers.map(converted))
  }
  @inlinable func add(_ handler: Handler<Payload>) -> HandlerToken { base.add(converted(handler)) }
  @inlinable func remove(_ token: HandlerToken) -> Bool { base.remove(token) }
  @inlinable func converted(_ handler: Handler<Payload>) -> Handler<Base.Payload> {
    var converted = handler.viewed(convert)
    converted.options.letter = handler.options.letter.behind(letter)
    return converted
  }
}
