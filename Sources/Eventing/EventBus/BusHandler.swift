/// The token belongs to the only handler of a private event, to which nothing is sent. Each call in
/// an event of the bus claims that handler, too (``SharedClaim``), so a removal takes effect before
/// it returns, and a `once` handler is called once across all events. Retained by the bus and,
/// beside their closures, by its handlers.
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
    // Filters need these.
    (handler.options.name, handler.options.tags) = (options.name, options.tags)
    (handler.options.owner, handler.options.isForward) = (options.owner, options.isForward)
    token = registration.add(handler)
  }

  deinit { registration.remove(token) }

  // MARK: Events

  @inline(never) func join(_ event: any AnyEvent) {
    guard registration.contains(token) else { return _ = end() }
    members.insert(attach(self, event))
    // If this bus handler has ended since the check above, its end may have missed the new member.
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

  /// Never called under a mutex.
  func endIfOwnerIsGone() { if token.record.hasLostOwner { end() } }

  @discardableResult func end() -> Bool { registration.remove(token) }
}

/// Retained only by the closure of the private handler, so it ends when that is unregistered.
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
    if isOfProtocol { return PostedSource(base: self, handler: handler) }
    return ConvertedSource(base: self, letter: .cast(of: Payload.self, to: Other.self)) { payload in
      handler.isOver ? nil : payload as? Other
    }
  }
}

private struct PostedSource<Inner: Sendable, Payload: Sendable>: ViewSource {
  let base: Event<Inner>
  let handler: BusHandler

  func converted(_ handler: Handler<Payload>) -> Handler<Inner> {
    let letter = handler.options.letter
    var posted = handler.converted { [bus = self.handler] (payload: Inner, delivery, _) in
      delivery.path == nil && !bus.isOver ? payload as? Payload : nil
    }
    posted.options.letter = letter.behind(.cast(of: Inner.self, to: Payload.self))
    return posted
  }
}

// The handlers of all events of a bus: `all(as:)`.
extension EventBus {
  func add(_ handler: BusHandler) {
    sweep()
    let found = mutex.withLock {
      unsafe everywhere.insert(handler, ObjectIdentifier(handler.token.anchor))
      return numbered
    }
    let events = Self.inOrder(found)
    for event in events { handler.join(event) }
    // An event removed from the bus before the handler joined it still has the handler.
    let left = Set(events.map { ObjectIdentifier($0) }).subtracting(all.map { ObjectIdentifier($0) })
    for event in events where left.contains(ObjectIdentifier(event)) { handler.leave(event) }
  }

  func forget(_ anchor: ObjectIdentifier) {
    let gone = mutex.withLock { unsafe everywhere.take(anchor) }
    withExtendedLifetime(gone) {}  // released outside the mutex
  }

  var busHandlers: [BusHandler] { mutex.withLock { unsafe everywhere.all } }

  /// Runs `insert` under `mutex` once the event has exactly the bus handlers of the bus. Until
  /// then, it lets bus handlers join or leave the event outside the mutex.
  func publish<Result>(
    _ made: any AnyEvent, _ known: inout [BusHandler], _ insert: () -> Result
  ) -> Result {
    while true {
      var current: [BusHandler] = []
      let result = mutex.withLock { () -> Result? in
        current = unsafe everywhere.all
        return current.elementsEqual(known, by: ===) ? insert() : nil
      }
      if let result { return result }
      for handler in current where !known.contains(where: { $0 === handler }) { handler.join(made) }
      for handler in known where !current.contains(where: { $0 === handler }) { handler.leave(made) }
      known = current
    }
  }

  func leave(_ events: [any AnyEvent]) {
    for handler in busHandlers { for event in events { handler.leave(event) } }
  }
}

final class BusMembers: Sendable {
  private let tokens = Guarded(OrderedTable<HandlerToken>())

  var movedCount: Int { tokens.withLock { $0.movedCount } }

  func insert(_ token: HandlerToken) { tokens.withLock { $0.insert(token, ObjectIdentifier(token.anchor)) } }

  func remove(from event: EventCore) {
    guard let anchor = event.anchorReference.load() else { return }
    tokens.withLock { $0.take(ObjectIdentifier(anchor)) }?.remove()
  }

  func removeAll() {
    let taken = tokens.withLock { tokens in
      defer { tokens = OrderedTable() }
      return tokens.all
    }
    for token in taken { token.remove() }
  }
}

/// Keeps its elements in the order in which they were inserted.
struct OrderedTable<Element: Sendable>: Sendable {
  private var places: [(id: ObjectIdentifier, element: Element)?] = []
  private var indices: [ObjectIdentifier: Int] = [:]
  private var swept = 0
  private(set) var movedCount = 0

  var all: [Element] { places.compactMap { $0?.element } }

  subscript(id: ObjectIdentifier) -> Element? { indices[id].flatMap { places[$0]?.element } }

  mutating func insert(_ element: Element, _ id: ObjectIdentifier) {
    indices[id] = places.count
    places.append((id, element))
  }

  mutating func update<Result>(_ id: ObjectIdentifier, _ change: (inout Element) -> Result) -> Result? {
    guard let index = indices[id], var place = places[index] else { return nil }
    places[index] = nil  // so that the change copies no array
    defer { places[index] = place }
    return change(&place.element)
  }

  /// The caller releases the result after unlocking.
  mutating func take(_ id: ObjectIdentifier) -> Element? {
    guard let index = indices.removeValue(forKey: id), let place = places[index] else { return nil }
    places[index] = nil
    if places.count > 16, places.count > 2 * indices.count {
      movedCount += places.count
      places = places.filter { $0 != nil }
      for (index, place) in places.enumerated() { if let place { indices[place.id] = index } }
      indices.giveBackRoom()
    }
    return place.element
  }

  /// Goes through all elements in turn. `nil` if there is none, or after many places that elements
  /// have left.
  mutating func nextToSweep() -> Element? {
    if indices.isEmpty { return nil }
    for _ in 0..<16 {
      swept = (swept + 1) % places.count
      if let place = places[swept] { return place.element }
    }
    return nil
  }
}
