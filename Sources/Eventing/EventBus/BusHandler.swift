/// The token is that of the only handler of a private event, to which nothing is sent. Each call in
/// an event of the bus is claimed for that handler, too (``SharedClaim``). So a removal holds on
/// return, and a `once` handler is called once in all events together. Retained by the bus, and by
/// the closures of its handlers.
final class BusHandler: Sendable {
  let token: HandlerToken
  let registration: Event<NoPayload>
  let members: BusMembers
  let isForward: Bool
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

  @inline(never) func join(_ event: any AnyEvent) {
    guard registration.contains(token) else { return _ = end() }
    members.insert(attach(self, event))
    // If this bus handler has ended since the check above, its end may not have seen the new
    // member.
    if isOver { members.removeAll() }
  }

  @inline(never) func leave(_ event: any AnyEvent) { members.remove(from: event.core) }

  // MARK: Calls

  var isOver: Bool { token.record.has(HandlerFlags.ended) }

  func sharedClaim(in event: any AnyEvent) -> SharedClaim {
    SharedClaim(token.record, of: self, in: event.core.anchor)
  }

  func endIfSpent() {
    if token.record.has(HandlerFlags.spent) { registration.core.requestUnregistration(token.record) }
  }

  /// Never read under a mutex.
  var hasLostOwner: Bool { token.record.details?.options.owner.map { !$0.isAlive } ?? false }

  @discardableResult func end() -> Bool { registration.remove(token) }

}

/// Retained only by the closure of the private handler, so the end comes when that is unregistered.
private final class BusHandlerEnd: Sendable {
  private weak let bus: EventBus?
  private weak let members: BusMembers?
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

private struct PostedSource<Inner: Sendable, Payload: Sendable>: EventSource {
  let event: Event<Inner>
  let handler: BusHandler

  func add(contentsOf handlers: [Handler<Payload>]) -> [HandlerToken] { event.add(contentsOf: handlers.map(posted)) }
  func add(_ handler: Handler<Payload>) -> HandlerToken { event.add(posted(handler)) }
  func remove(_ token: HandlerToken) -> Bool { event.remove(token) }

  private func posted(_ handler: Handler<Payload>) -> Handler<Inner> {
    let letter = handler.options.letter
    var posted = handler.converted { [bus = self.handler] (payload: Inner, delivery, _) in
      delivery.path == nil && !bus.isOver ? payload as? Payload : nil
    }
    posted.options.letter = letter.behind(.cast(of: Inner.self, to: Payload.self))
    return posted
  }
}
