/// A handler of all events of a bus: a handler in each, and one token and one life for all of them.
///
/// The token names the only handler of a private event, to which nothing is sent. Each call in an
/// event of the bus is claimed for that handler, too (``SharedClaim``). So a removal holds on
/// return, and a `once` handler is called once in all events together. When that handler is
/// unregistered, the release of its closure removes the handlers in the events of the bus.
///
/// The bus retains the bus handler, and so do the closures of the handlers in the events. After the
/// bus is finished, the bus handler is released with the last of these closures.
final class BusHandler: Sendable {
  let token: HandlerToken
  /// The private event, which has one handler: the one with the token `token`. Nothing is sent to
  /// the event. It exists for that handler, whose end is the end of this bus handler in all events.
  let registration: Event<NoPayload>
  /// The tokens of this bus handler's handlers in the events of the bus.
  let members: BusMembers
  /// Whether this forwards to the event of a protocol type: see ``EventBus/forwardAll(to:)``.
  let isForward: Bool
  /// Adds a handler for this bus handler to an event of the bus, and returns the token of that
  /// handler.
  private let attach: @Sendable (BusHandler, any AnyEvent) -> HandlerToken

  @inline(never) init(
    on bus: EventBus, _ options: HandlerOptions, isOnce: Bool, _ source: SourceLine, isForward: Bool = false,
    attach: @escaping @Sendable (BusHandler, any AnyEvent) -> HandlerToken
  ) {
    let (registration, members) = (Event<NoPayload>(untold: nil), BusMembers())
    let end = BusHandlerEnd(bus, members, registration.core.anchor)
    self.registration = registration
    self.members = members
    self.isForward = isForward
    self.attach = attach
    var handler = Handler<NoPayload>(
      .inline, HandlerBody(sync: { (_: NoPayload) in _ = end }), [], source, once: isOnce)
    // A filter asks for these.
    (handler.options.name, handler.options.tags) = (options.name, options.tags)
    (handler.options.owner, handler.options.isForward) = (options.owner, options.isForward)
    token = registration.add(handler)
  }

  deinit { registration.remove(token) }

  // MARK: Events

  /// Adds to an event of the bus a handler that calls the user's closure.
  @inline(never) func join(_ event: any AnyEvent) {
    guard registration.contains(token) else { return _ = end() }
    members.insert(attach(self, event))
    // If the bus handler has ended since the check above, its end may have come before the new
    // handler was in `members`. So this thread removes the new handler.
    if isOver { members.removeAll() }
  }

  /// Removes this bus handler's own handler from an event. Complexity: O(1), amortized.
  @inline(never) func leave(_ event: any AnyEvent) { members.remove(from: event.core) }

  // MARK: Calls

  /// Whether no call begins any more.
  var isOver: Bool { token.record.has(HandlerFlags.ended) }

  /// Returns the claim that a handler in an event of the bus shares.
  func sharedClaim(in event: any AnyEvent) -> SharedClaim {
    SharedClaim(token.record, of: self, in: event.core.anchor)
  }

  /// Ends the handler in all events if a call has used it up.
  func endIfSpent() {
    if token.record.has(HandlerFlags.spent) { registration.core.requestUnregistration(token.record) }
  }

  /// Whether the handler has an owner that has been released. Never read under a mutex.
  var hasLostOwner: Bool { token.record.details?.options.owner.map { !$0.isAlive } ?? false }

  /// Ends the handler in all events.
  ///
  /// - Returns: Whether this call ended it.
  @discardableResult func end() -> Bool { registration.remove(token) }

}

/// An object whose `deinit` ends a bus handler: it removes the bus handler from the bus, and its
/// handlers from the events of the bus.
///
/// Only the closure of the handler in the private event retains this object. So the end comes when
/// that handler is unregistered.
private final class BusHandlerEnd: Sendable {
  private weak let bus: EventBus?
  private weak let members: BusMembers?
  /// The anchor of the private event, which exists until after this object.
  private let id: ObjectIdentifier

  init(_ bus: EventBus, _ members: BusMembers, _ anchor: EventAnchor) {
    self.bus = bus
    self.members = members
    id = ObjectIdentifier(anchor)
  }

  deinit {
    bus?.forget(id)
    members?.removeAll()
  }
}

extension Event {
  // The name of the metatype of a protocol ends with `Protocol`, or begins with `any` if the
  // protocol has arguments.
  nonisolated var isOfProtocol: Bool {
    let name = String(reflecting: type(of: Payload.self))
    return name.hasSuffix(".Protocol") || name.hasPrefix("any ") || name.hasPrefix("(any ")
  }

  nonisolated func source<Other: Sendable>(of type: Other.Type, for handler: BusHandler) -> any EventSource<Other> {
    if isOfProtocol { return PostedSource(event: self, handler: handler) }
    return ConvertedSource(base: self, letter: .cast(of: Payload.self, to: Other.self)) { payload in
      handler.isOver ? nil : payload as? Other
    }
  }
}

/// A source of the payloads of a protocol type's event that were posted as such. A handler for all
/// payloads gets the forwarded ones in the events that forward them.
private struct PostedSource<Inner: Sendable, Payload: Sendable>: EventSource {
  let event: Event<Inner>
  let handler: BusHandler

  func add(contentsOf handlers: [Handler<Payload>]) -> [HandlerToken] { event.add(contentsOf: handlers.map(posted)) }
  func add(_ handler: Handler<Payload>) -> HandlerToken { event.add(posted(handler)) }
  func remove(_ token: HandlerToken) -> Bool { event.remove(token) }

  private func posted(_ handler: Handler<Payload>) -> Handler<Inner> {
    let letter = handler.options.letter
    var posted = handler.converted { [bus = self.handler] (payload: Inner, tally, _) in
      tally.path == nil && !bus.isOver ? payload as? Payload : nil
    }
    posted.options.letter = letter.behind(.cast(of: Inner.self, to: Payload.self))
    return posted
  }
}
