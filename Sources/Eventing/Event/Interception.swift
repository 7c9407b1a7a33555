/// An interceptor's decision about an occurrence: see ``Event/intercept(_:fileID:line:perform:)``.
public struct Interception<Payload: Sendable>: Sendable {
  let decision: InterceptorDecision<Payload>

  /// Passes the occurrence on to the remaining handlers.
  public static var proceed: Interception { Interception(decision: .proceed) }

  /// Passes a different payload on to the remaining handlers, including later interceptors.
  ///
  /// - Parameter payload: The payload that they receive instead of the one that was sent.
  public static func proceed(with payload: Payload) -> Interception {
    Interception(decision: .substitute(payload))
  }

  /// Withholds the occurrence from the remaining handlers, which the report counts as skipped.
  public static var stop: Interception { Interception(decision: .stop) }

  package func map<Whole: Sendable>(_ transform: (Payload) -> Whole) -> Interception<Whole> {
    Interception<Whole>(decision: decision.map(transform))
  }

  fileprivate var erased: InterceptorDecision<SharedPayload> { decision.map { SharedPayload($0) } }
}

extension Interception: CustomStringConvertible {
  /// The decision, without the payload.
  public var description: String {
    switch decision {
    case .proceed: "proceed"
    case .substitute: "proceed(with: \(Payload.self))"
    case .stop: "stop"
    }
  }
}

/// An option of an interceptor: see ``Event/intercept(_:fileID:line:perform:)``.
///
/// Options may be given in any order. Of two options of the same kind, the later one applies.
public struct InterceptorOption: Sendable {
  let setting: HandlerSetting

  /// A name by which ``HandlerFilter/named(_:)`` selects the interceptor.
  public static func named(_ name: String) -> InterceptorOption { InterceptorOption(setting: .name(name)) }

  /// Tags by which ``HandlerFilter/tagged(_:)`` selects the interceptor, in addition to those of
  /// other options.
  public static func tagged(_ tags: String...) -> InterceptorOption { InterceptorOption(setting: .tags(tags)) }

  /// The interceptor's position in the order of calls. Give it a higher priority than the handlers
  /// that it guards.
  ///
  /// - Parameter priority: The default is 0.
  public static func priority(_ priority: Int) -> InterceptorOption {
    InterceptorOption(setting: .priority(priority))
  }

  /// Removes the interceptor after one call.
  public static var once: InterceptorOption { InterceptorOption(setting: .once) }
}

extension InterceptorOption: DescribedByContent {
  var content: HandlerSetting { setting }
}

extension Event {
  /// Adds an inline handler that can withhold an occurrence from later handlers or change what they
  /// receive.
  ///
  ///     hits.intercept(.priority(10)) { hit in .proceed(with: hit.halved) }
  ///
  /// If the closure returns ``Interception/stop``, all later handlers are skipped, both on lanes
  /// and inline. The ``SendReport`` counts them as skipped, and once handlers aren't used up.
  ///
  /// After ``Interception/proceed(with:)``, the new payload is what later interceptors, handlers,
  /// sequences, views and forwards receive, what ``EventReplay`` repeats, and what their
  /// ``deadLetters`` contain. ``latest`` and traces show the payload that was sent. An occurrence
  /// for which an interceptor was called doesn't count as ``unhandled``.
  ///
  /// An error is a failure like any other, and the occurrence proceeds unchanged unless the event's
  /// policy is ``FailurePolicy/skipLaterHandlers``. A locked or removed interceptor has no effect.
  ///
  /// This takes effect before it returns and may be called from any thread and inside any handler:
  /// see ``EventSource``.
  ///
  /// - Parameters:
  ///   - options: A name, tags, a priority, or ``InterceptorOption/once``.
  ///   - fileID: The file where the interceptor is created, for snapshots and diagnostics.
  ///   - line: The line where the interceptor is created.
  ///   - body: The closure to call with each payload, on the thread that delivers.
  /// - Returns: A token that identifies the handler. Dropping it has no effect.
  /// - Complexity: O(1), or O(priorities) for the first handler of a priority. Substituting a
  ///   payload takes one allocation.
  @discardableResult public nonisolated func intercept(
    _ options: InterceptorOption..., fileID: StaticString = #fileID, line: UInt = #line,
    perform body: @escaping @Sendable (Payload) throws -> Interception<Payload>
  ) -> HandlerToken {
    addInterceptor(options, fileID, line, body)
  }

  /// Adds an interceptor that lives as long as an object: see
  /// ``intercept(_:fileID:line:perform:)``.
  ///
  /// - Parameters:
  ///   - options: A name, tags, a priority, or ``InterceptorOption/once``.
  ///   - owner: The object, which is held weakly. The interceptor ends when it's released.
  ///   - fileID: The file where the interceptor is created, for snapshots and diagnostics.
  ///   - line: The line where the interceptor is created.
  ///   - body: The closure to call with the owner and each payload.
  @discardableResult public nonisolated func intercept<Owner: AnyObject & Sendable>(
    _ options: InterceptorOption..., owner: Owner, fileID: StaticString = #fileID, line: UInt = #line,
    perform body: @escaping @Sendable (Owner, Payload) throws -> Interception<Payload>
  ) -> HandlerToken {
    addInterceptor(options, owner, fileID, line, body)
  }

  package nonisolated func addInterceptor(
    _ options: [InterceptorOption], _ fileID: StaticString, _ line: UInt,
    _ body: @escaping @Sendable (Payload) throws -> Interception<Payload>
  ) -> HandlerToken {
    addInterceptor(options, nil, SourceLine(fileID, line)) { try body($0.payload.payload()).erased }
  }

  package nonisolated func addInterceptor<Owner: AnyObject & Sendable>(
    _ options: [InterceptorOption], _ owner: Owner, _ fileID: StaticString, _ line: UInt,
    _ body: @escaping @Sendable (Owner, Payload) throws -> Interception<Payload>
  ) -> HandlerToken {
    addInterceptor(options, owner, SourceLine(fileID, line)) { call in
      try body(call.owner(), call.payload.payload()).erased
    }
  }

  private nonisolated func addInterceptor(
    _ options: [InterceptorOption], _ owner: (any AnyObject & Sendable)?, _ source: SourceLine,
    _ body: @escaping @Sendable (HandlerArguments) throws -> InterceptorDecision<SharedPayload>
  ) -> HandlerToken {
    var handler = Handler<Payload>(.inline, .intercept(body))
    handler.any.source = source
    handler.any.apply(options.map(\.setting))
    handler.options.owner = owner.map { Owner($0) }
    handler.options.isOwnerBound = owner != nil
    handler.options.isInterceptor = true
    return add(handler)
  }
}

extension KeyedEvent {
  /// Adds an interceptor for all keys: see ``Event/intercept(_:fileID:line:perform:)``.
  ///
  ///     rooms.intercept { room, message in room == lobby ? .stop : .proceed }
  ///
  /// - Parameters:
  ///   - options: A name, tags, a priority, or ``InterceptorOption/once``.
  ///   - fileID: The file where the interceptor is created, for snapshots and diagnostics.
  ///   - line: The line where the interceptor is created.
  ///   - body: The closure to call with each key and payload. It can't change the key.
  @discardableResult public func intercept(
    _ options: InterceptorOption..., fileID: StaticString = #fileID, line: UInt = #line,
    perform body: @escaping @Sendable (Key, Payload) throws -> Interception<Payload>
  ) -> HandlerToken {
    addInterceptor(options, fileID, line, body)
  }

  /// Adds an interceptor for all keys that lives as long as an object: see
  /// ``Event/intercept(_:owner:fileID:line:perform:)``.
  ///
  /// - Parameters:
  ///   - options: A name, tags, a priority, or ``InterceptorOption/once``.
  ///   - owner: The object, which is held weakly. The interceptor ends when it's released.
  ///   - fileID: The file where the interceptor is created, for snapshots and diagnostics.
  ///   - line: The line where the interceptor is created.
  ///   - body: The closure to call with the owner and each key and payload.
  @discardableResult public func intercept<Owner: AnyObject & Sendable>(
    _ options: InterceptorOption..., owner: Owner, fileID: StaticString = #fileID, line: UInt = #line,
    perform body: @escaping @Sendable (Owner, Key, Payload) throws -> Interception<Payload>
  ) -> HandlerToken {
    addInterceptor(options, owner, fileID, line, body)
  }

  package func addInterceptor(
    _ options: [InterceptorOption], _ fileID: StaticString, _ line: UInt,
    _ body: @escaping @Sendable (Key, Payload) throws -> Interception<Payload>
  ) -> HandlerToken {
    event.addInterceptor(options, fileID, line) { sent in
      try body(sent.key, sent.payload).map { KeyedPayload(sent.key, $0) }
    }
  }

  package func addInterceptor<Owner: AnyObject & Sendable>(
    _ options: [InterceptorOption], _ owner: Owner, _ fileID: StaticString, _ line: UInt,
    _ body: @escaping @Sendable (Owner, Key, Payload) throws -> Interception<Payload>
  ) -> HandlerToken {
    event.addInterceptor(options, owner, fileID, line) { owner, sent in
      try body(owner, sent.key, sent.payload).map { KeyedPayload(sent.key, $0) }
    }
  }
}

@usableFromInline enum InterceptorDecision<Content: Sendable>: Sendable {
  case proceed
  case substitute(Content)
  case stop

  var isStop: Bool { if case .stop = self { true } else { false } }

  func map<Other>(_ transform: (Content) -> Other) -> InterceptorDecision<Other> {
    switch self {
    case .proceed: .proceed
    case .substitute(let content): .substitute(transform(content))
    case .stop: .stop
    }
  }
}

@usableFromInline final class SharedPayload: Sendable {
  private let payload: OwnedPayload

  init(_ payload: some Sendable) { self.payload = OwnedPayload(payload) }

  var borrowed: BorrowedPayload { payload.borrowed }
}

extension Delivery {
  enum ForLaterHandlers: UInt8 {
    case same
    case substitute
    case nothing
  }

  mutating func apply(_ decision: InterceptorDecision<SharedPayload>) {
    switch decision {
    case .proceed: break
    case .stop: forLaterHandlers = .nothing
    case .substitute(let substitute):
      self.substitute = substitute
      forLaterHandlers = .substitute
    }
  }

  mutating func payloadForLater(_ payload: BorrowedPayload) -> BorrowedPayload {
    guard forLaterHandlers == .substitute, let substitute else { return payload }
    forLaterHandlers = .same
    self.payload = substitute.borrowed
    return substitute.borrowed
  }
}
