/// A registry of events that are found by payload type, or by owner and key.
///
///     let bus = EventBus()                                    // or EventBus.shared
///     bus.event(for: OrderPlaced.self).addHandler { order in print(order) }
///     bus.all(as: (any Auditable).self).addHandler { entry in print(entry) }
///     bus.post(OrderPlaced(id: 1))
///     try bus.event(.didLogin, of: account).addHandler { user in print(user) }
///
/// All methods may be called from any thread and inside any handler. Only
/// ``HandlerRegistry/quiesce()`` and `send` are awaited. If several threads ask for an event at the
/// same time, the bus creates it once and returns it to all of them.
///
/// Owners are held weakly. After an owner has been released, its events are never found again, not
/// even for a new object at its address. Each use of the bus checks a few owners and releases the
/// events of those that are gone. In the same way, the bus ends handlers of all events
/// (``all(as:)``) whose owner is gone.
public final class EventBus: Sendable {
  /// A bus for the whole process.
  public static let shared = EventBus()

  let mutex = UnfairMutex()
  // Safe: all four are guarded by `mutex`. No user code runs under it, and no weak reference is
  // read.
  // Guarded by: mutex.
  @exclusivity(unchecked) nonisolated(unsafe) private var byType: [ObjectIdentifier: NumberedEvent] = [:]
  // Guarded by: mutex.
  @exclusivity(unchecked) nonisolated(unsafe) private var ofOwners = OrderedTable<OwnedEvents>()
  // Guarded by: mutex.
  @exclusivity(unchecked) nonisolated(unsafe) var everywhere = OrderedTable<BusHandler>()
  // Guarded by: mutex.
  @exclusivity(unchecked) nonisolated(unsafe) private var lastNumber = 0

  /// Creates a bus without events.
  public init() {}

  // MARK: By payload

  /// Returns the event of a payload type, creating it at first use.
  ///
  /// The event is named after the type. The bus keeps it until ``HandlerRegistry/finish()``.
  ///
  /// A post of an `any Alarm` goes to the event of the payload's own type, because Swift opens the
  /// existential. To receive such payloads, the event of a protocol type has a forward from every
  /// other event of the bus, which passes on each payload that conforms.
  ///
  /// - Complexity: O(1). At first use, O(*n*) for *n* handlers of all events; for a protocol type,
  ///   O(events of the bus). Each occurrence of any event then costs a cast.
  public func event<Payload: Sendable>(for type: Payload.Type) -> Event<Payload> {
    sweep()
    let id = ObjectIdentifier(type)
    if let event = mutex.withLock({ unsafe byType[id]?.event }) as? Event<Payload> { return event }
    let made = Event<Payload>(untold: "\(type)")
    var known: [BusHandler] = []
    let event = publish(made, &known) {
      if let event = unsafe byType[id]?.event { return event }
      unsafe byType[id] = (nextNumber(), made)
      return made
    }
    guard let event = event as? Event<Payload> else { preconditionFailure("the event of a type carries that") }
    if event === made {
      event.tellObservers()
      if event.isOfProtocol { forwardAll(to: event) }
    }
    return event
  }

  // MARK: By owner

  /// Returns the event of an owner and a key, creating it at first use.
  ///
  /// The event is named after the key. The bus keeps it until the owner is released or the event is
  /// removed from the bus.
  ///
  /// - Parameters:
  ///   - key: The name and the payload type of the event.
  ///   - owner: The object to which the event belongs, compared by identity and held weakly.
  /// - Returns: The event. Later calls return the same one.
  /// - Throws: An ``EventingError`` of the kind ``EventingError/payloadMismatch`` if the
  ///   owner has an event of this name with another payload type.
  /// - Complexity: O(events of the owner).
  public func event<Payload: Sendable>(
    _ key: EventKey<Payload>, of owner: some AnyObject & Sendable
  ) throws(EventingError) -> Event<Payload> {
    sweep()
    let found = withEvents(of: owner) { events in events.first { $0.key == key.name }?.event } ?? nil
    var made: Event<Payload>?
    let event: any AnyEvent
    if let found {
      event = found
    } else {
      let new = Event<Payload>(untold: key.name)
      made = new
      event = add(new, key.name, owner)
    }
    guard let event = event as? Event<Payload> else {
      let expected = "an event of \(Payload.self) named \"\(key.name)\""
      throw EventingError(
        .payloadMismatch, "expected \(expected); there is an event of \(type(of: event).payloadDescription)")
    }
    if event === made { event.tellObservers() }
    return event
  }

  /// Returns the events of an owner, in the order in which they were created.
  ///
  /// - Complexity: O(events of the owner).
  public func events(of owner: some AnyObject & Sendable) -> [any HandlerRegistry] {
    sweep()
    return withEvents(of: owner) { $0.map(\.event) } ?? []
  }

  /// Removes an event from the bus, so that the next use of its key creates a new one.
  ///
  /// This doesn't end the event: code that holds it can keep using it.
  ///
  /// - Parameters:
  ///   - key: The name of the event. The payload type isn't compared.
  ///   - owner: The object to which the event belongs.
  /// - Returns: Whether there was such an event.
  /// - Complexity: O(events of the owner).
  @discardableResult public func removeEvent<Payload: Sendable>(
    _ key: EventKey<Payload>, of owner: some AnyObject & Sendable
  ) -> Bool {
    sweep()
    let removed = withEvents(of: owner) { events in
      events.firstIndex { $0.key == key.name }.map { events.remove(at: $0).event }
    }
    guard let removed = removed ?? nil else { return false }
    leave([removed])
    return true
  }

  /// Removes all events of an owner from the bus: see ``removeEvent(_:of:)``.
  ///
  /// - Returns: The number of events removed.
  /// - Complexity: O(events of the owner).
  @discardableResult public func removeEvents(of owner: some AnyObject & Sendable) -> Int {
    sweep()
    let removed = withEvents(of: owner) { events in
      defer { events = [] }
      return events.map(\.event)
    }
    guard let removed else { return 0 }
    leave(removed)
    return removed.count
  }

  // MARK: All

  func finishAll() {
    let (events, content) = mutex.withLock {
      defer { unsafe (byType, ofOwners, everywhere) = ([:], OrderedTable(), OrderedTable()) }
      return unsafe (numbered, (byType, ofOwners, everywhere))
    }
    for event in Self.inOrder(events) { event.core.finish() }
    withExtendedLifetime(content) {}  // released outside the mutex
  }

  var all: [any AnyEvent] { Self.inOrder(mutex.withLock { numbered }) }

  /// The caller holds `mutex`.
  @inline(never) var numbered: [NumberedEvent] {
    unsafe byType.values + ofOwners.all.flatMap { $0.events.map { ($0.number, $0.event) } }
  }

  /// The caller holds `mutex`.
  private func nextNumber() -> Int {
    unsafe lastNumber += 1
    return unsafe lastNumber
  }

  static func inOrder(_ events: [NumberedEvent]) -> [any AnyEvent] {
    events.sortedUnspecialized { $0.number < $1.number }.map(\.event)
  }

  // MARK: Owners

  private func add(_ made: any AnyEvent, _ name: String, _ owner: some AnyObject & Sendable) -> any AnyEvent {
    let address = ObjectIdentifier(owner)
    let box = Owner(owner)
    var known: [BusHandler] = []
    var stale: OwnedEvents?
    // The entry of a released owner at this address. Its events may still be in use, so `leave`
    // removes the bus handlers from them. The entry is released outside the mutex.
    defer { if let stale { leave(stale.events.map(\.event)) } }
    while true {
      let seen = mutex.withLock { unsafe ofOwners[address]?.owner }
      let isNew = seen?.isSame(as: owner) != true
      let event = publish(made, &known) { () -> (any AnyEvent)? in
        guard unsafe ofOwners[address]?.owner === seen else { return nil }  // another thread was faster: retry
        if isNew {
          stale = unsafe ofOwners.take(address)
          unsafe ofOwners.insert(OwnedEvents(owner: box), address)
        }
        return unsafe ofOwners.update(address) { owned in
          if let found = owned.events.first(where: { $0.key == name }) { return found.event }
          owned.events.append((name, made, nextNumber()))
          return made
        }
      }
      if let event { return event }
    }
  }

  /// `body` runs under `mutex` and must not let the array escape, because it's modified in place:
  /// see ``Guarded``. `nil` if the bus has no events of the owner.
  private func withEvents<Result>(
    of owner: some AnyObject & Sendable, _ body: (inout [OwnedEvents.Element]) -> Result
  ) -> Result? {
    let address = ObjectIdentifier(owner)
    // The entry may belong to an earlier object at this address. Checking that reads a weak
    // reference, so it's done outside the mutex. As the owner exists, no entry that comes later is
    // that of another object.
    guard let box = mutex.withLock({ unsafe ofOwners[address]?.owner }), box.isSame(as: owner) else { return nil }
    return mutex.withLock { unsafe ofOwners.update(address) { body(&$0.events) } }
  }

  /// Never called under a mutex.
  func sweep() {
    let (first, second, owner, other) = mutex.withLock {
      unsafe (
        everywhere.nextToSweep(), everywhere.nextToSweep(), ofOwners.nextToSweep()?.owner,
        ofOwners.nextToSweep()?.owner
      )
    }
    first?.endIfOwnerIsGone()
    second?.endIfOwnerIsGone()
    removeEventsIfGone(owner)
    removeEventsIfGone(other)
  }

  private func removeEventsIfGone(_ owner: Owner?) {
    guard let owner, owner.object == nil else { return }
    let address = owner.objectID
    // `gone` is released outside the mutex.
    let gone = mutex.withLock { unsafe ofOwners[address]?.owner === owner ? ofOwners.take(address) : nil }
    if let gone { leave(gone.events.map(\.event)) }
  }
}

extension EventBus: CustomStringConvertible {
  /// The number of events, as text.
  public var description: String { "bus of \(all.count) events" }
}

extension AnyEvent {
  static var payloadDescription: String {
    let name = "\(Self.self)"
    return name.hasPrefix("Event<") ? String(name.dropFirst("Event<".count).dropLast()) : name
  }
}

// Sending through the event for a payload type.

extension EventBus {
  /// Sends through the event of the payload's type without waiting: see ``Event/post(_:from:)``.
  ///
  /// ``event(for:)`` creates the event if there is none.
  public func post<Payload: Sendable>(_ payload: Payload, from sender: (any AnyObject & Sendable)? = nil) {
    event(for: Payload.self).post(payload, from: sender)
  }

  /// Sends through the event of the payload's type and waits for its handlers: see
  /// ``Event/send(_:from:)``.
  @discardableResult public nonisolated(nonsending) func send<Payload: Sendable>(
    _ payload: Payload, from sender: (any AnyObject & Sendable)? = nil
  ) async -> SendReport { await event(for: Payload.self).send(payload, from: sender) }
}

extension EventBus: HandlerRegistry {
  /// The handlers of the events that the bus has at this moment. A method for all handlers, such as
  /// ``HandlerRegistry/lockAll(where:holding:)``, doesn't reach events created later.
  ///
  /// The token of a handler of all events (``all(as:)``) can be removed and looked up, but not
  /// locked.
  public var handlerTable: HandlerTable { HandlerTable(content: .bus(self)) }

  func event(of token: HandlerToken, orBusHandler: Bool) -> (any AnyEvent)? {
    if let event = all.first(where: { $0.core.owns(token) }) { return event }
    return orBusHandler ? mutex.withLock { unsafe everywhere[ObjectIdentifier(token.anchor)] }?.registration : nil
  }

  func removeHandlers(where filter: HandlerFilter) -> Int {
    var count = 0
    for handler in busHandlers where !handler.isForward {
      count += handler.registration.core.removeAll(where: filter.isIncluded)
    }
    let events = all
    let filter = events.reduce(filter) { $1.isOfProtocol ? $0 && !.forwarding(toObject: $1) : $0 }
    for event in events { count += event.core.removeAll(where: filter.isIncluded) }
    return count
  }
}

/// The name and the payload type of an event that belongs to an owner: see ``EventBus``.
///
///     extension EventKey where Payload == User { static let didLogin = EventKey("didLogin") }
public struct EventKey<Payload: Sendable>: Hashable, Sendable {
  /// The name by which the owner's event is found.
  public let name: String

  /// Creates a key with a name.
  public init(_ name: String) { self.name = name }
}

extension EventKey: CustomStringConvertible {
  /// The name and the payload type.
  public var description: String { "\"\(name)\" of \(Payload.self)" }
}

/// Events are visited by number, because the order of dictionaries depends on addresses.
typealias NumberedEvent = (number: Int, event: any AnyEvent)

/// No weak reference to an owner is read under the mutex: the read could run the owner's `deinit`.
/// Guarded by: EventBus.mutex.
private struct OwnedEvents: Sendable {
  typealias Element = (key: String, event: any AnyEvent, number: Int)

  let owner: Owner
  var events: [Element] = []
}
