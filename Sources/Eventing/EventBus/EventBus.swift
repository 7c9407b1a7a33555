/// Events that are found: by what they carry, or by an owner and a key.
///
///     let bus = EventBus()                                    // or EventBus.shared
///     bus.addHandler(for: OrderPlaced.self) { order in print(order) }
///     bus.post(OrderPlaced(id: 1))
///     try bus.event(.didLogin, of: account).addHandler { user in print(user) }
///
/// No call needs `await` but those that wait, and all may be made from any thread: however many ask for an event at the same time, it is made once and all get it. An
/// owner is held weakly. When it is gone its events are never found again, by a new object at its address least of all; they are released little
/// by little as the bus is used.
public final class EventBus: Sendable {
  /// One for the whole process.
  public static let shared = EventBus()

  /// The events of one owner.
  private struct Owned: Sendable {
    let owner: Owner
    var events: [(key: String, event: any EventProtocol)] = []
  }

  private let mutex = UnfairMutex()
  // Safe: these are guarded by `mutex`. No user code runs under it, and no weak reference is read there.
  @exclusivity(unchecked) nonisolated(unsafe) private var byType: [ObjectIdentifier: any EventProtocol] = [:]
  @exclusivity(unchecked) nonisolated(unsafe) private var byOwner: [ObjectIdentifier: Owned] = [:]
  /// The owners in the order in which they are looked at.
  @exclusivity(unchecked) nonisolated(unsafe) private var owners: [ObjectIdentifier] = []
  @exclusivity(unchecked) nonisolated(unsafe) private var nextOwner = 0

  /// A bus without events.
  public init() {}

  // MARK: By payload

  /// The event of a type; made at first use. O(1).
  public func event<Payload: Sendable>(for type: Payload.Type) -> Event<Payload> {
    sweep()
    let id = ObjectIdentifier(type)
    if let event = mutex.withLock({ unsafe byType[id] }) as? Event<Payload> { return event }
    let made = Event<Payload>("\(type)")
    let event = mutex.withLock {
      if let event = unsafe byType[id] { return event }
      unsafe byType[id] = made
      return made
    }
    guard let event = event as? Event<Payload> else { preconditionFailure("the event of a type carries that") }
    return event
  }

  // MARK: By owner

  /// The event of an owner; made at first use, and gone with its owner. O(1), and O(events of the owner).
  ///
  /// - Throws: ``EventingError`` if there is one of that name which carries something else.
  public func event<Payload: Sendable>(
    _ key: EventKey<Payload>, of owner: some AnyObject & Sendable
  ) throws(EventingError) -> Event<Payload> {
    sweep()
    let found = owned(owner) { events in events.first { $0.key == key.name }?.event } ?? nil
    let event = found ?? add(Event<Payload>(key.name), key.name, owner)
    guard let event = event as? Event<Payload> else {
      let expected = "an event of \(Payload.self) named \"\(key.name)\""
      throw EventingError(
        code: .payloadMismatch,
        description: "expected \(expected); there is an event of \(type(of: event).payloadDescription)")
    }
    return event
  }

  /// The events of an owner, in the order in which they were made.
  public func events(of owner: some AnyObject & Sendable) -> [any EventProtocol] {
    sweep()
    return owned(owner) { $0.map(\.event) } ?? []
  }

  /// The names of the events of an owner, in the order in which they were made.
  public func names(of owner: some AnyObject & Sendable) -> [String] {
    sweep()
    return owned(owner) { $0.map(\.key) } ?? []
  }

  /// Forgets an event of an owner; false if there is none. Who holds it goes on using it; the bus makes a new one.
  @discardableResult public func remove<Payload: Sendable>(
    _ key: EventKey<Payload>, of owner: some AnyObject & Sendable
  ) -> Bool {
    sweep()
    guard let box = box(of: owner) else { return false }
    let removed = mutex.withLock { () -> (any EventProtocol)? in
      guard let owned = unsafe byOwner[box.objectID], owned.owner === box,
        let at = owned.events.firstIndex(where: { $0.key == key.name })
      else { return nil }
      return unsafe byOwner[box.objectID]?.events.remove(at: at).event
    }
    return removed != nil
  }

  /// Forgets all events of an owner, and returns how many there were.
  @discardableResult public func removeAll(of owner: some AnyObject & Sendable) -> Int {
    sweep()
    guard let box = box(of: owner) else { return 0 }
    let removed = mutex.withLock { () -> [(key: String, event: any EventProtocol)] in
      guard let owned = unsafe byOwner[box.objectID], owned.owner === box else { return [] }
      unsafe byOwner[box.objectID]?.events = []
      return owned.events
    }
    return removed.count
  }

  // MARK: All

  /// Returns when nothing that was sent before through any event of the bus is still running; see ``Event/quiesce()``.
  public nonisolated(nonsending) func quiesce() async {
    for event in all { await event.quiesce() }
  }

  /// Ends all events, and forgets them: what was sent is delivered, then handlers are released. The bus can be used on; it makes new events.
  public func finish() {
    let (types, owned) = mutex.withLock {
      defer { unsafe (byType, byOwner, owners, nextOwner) = ([:], [:], [], 0) }
      return unsafe (byType, byOwner)
    }
    for event in types.values { event.finish() }
    for event in owned.values.flatMap(\.events) { event.event.finish() }
  }

  private var all: [any EventProtocol] {
    mutex.withLock { unsafe byType.values + byOwner.values.flatMap { $0.events.map(\.event) } }
  }

  /// What is there of that name: another thread may have been first.
  private func add(_ made: any EventProtocol, _ name: String, _ owner: some AnyObject & Sendable) -> any EventProtocol {
    let id = ObjectIdentifier(owner)
    let box = Owner(owner)
    var stale: Owned?
    defer { withExtendedLifetime(stale) {} }  // what goes, goes outside of the lock
    while true {
      let seen = mutex.withLock { unsafe byOwner[id]?.owner }
      let isThere = seen?.isSame(as: owner) ?? false
      let event = mutex.withLock { () -> (any EventProtocol)? in
        guard unsafe byOwner[id]?.owner === seen else { return nil }  // another thread was faster: look again
        if !isThere {
          stale = unsafe byOwner.updateValue(Owned(owner: box), forKey: id)
          if seen == nil { unsafe owners.append(id) }
        }
        if let found = unsafe byOwner[id]?.events.first(where: { $0.key == name }) { return found.event }
        unsafe byOwner[id]?.events.append((name, made))
        return made
      }
      if let event { return event }
    }
  }

  /// What names a living owner here, if the bus knows it. Whether the box is that of a dead object at the owner's address is asked outside of the lock.
  private func box(of owner: some AnyObject & Sendable) -> Owner? {
    guard let box = mutex.withLock({ unsafe byOwner[ObjectIdentifier(owner)]?.owner }), box.isSame(as: owner) else {
      return nil
    }
    return box
  }

  /// What `body` makes, under the lock, of the events of an owner; nil if there are none. No array leaves the lock that is changed in place there: the
  /// thread sanitizer does not see that the count of its references orders that.
  private func owned<Result>(
    _ owner: some AnyObject & Sendable, _ body: ([(key: String, event: any EventProtocol)]) -> Result
  ) -> Result? {
    guard let box = box(of: owner) else { return nil }
    return mutex.withLock { unsafe byOwner[box.objectID].flatMap { $0.owner === box ? body($0.events) : nil } }
  }

  /// Looks at two owners, and releases the events of those that are gone.
  private func sweep() {
    let seen = mutex.withLock { () -> [(at: Int, Owner)] in
      (0..<2).compactMap { _ in
        guard unsafe !owners.isEmpty else { return nil }
        unsafe nextOwner = unsafe (nextOwner + 1) % owners.count
        return unsafe byOwner[owners[nextOwner]].map { unsafe (nextOwner, $0.owner) }
      }
    }
    for (at, owner) in seen where owner.object == nil {
      let gone = mutex.withLock { () -> Owned? in
        guard unsafe at < owners.count, let owned = unsafe byOwner[owners[at]], owned.owner === owner else {
          return nil
        }
        unsafe byOwner[owners[at]] = nil
        unsafe owners.swapAt(at, owners.count - 1)
        unsafe owners.removeLast()
        unsafe byOwner.giveBackRoom()
        unsafe owners.giveBackRoom()
        return owned
      }
      withExtendedLifetime(gone) {}
    }
  }
}

extension EventBus: CustomStringConvertible {
  /// How many events it holds.
  public var description: String { "bus of \(all.count) events" }
}

extension EventProtocol {
  /// For messages.
  static var payloadDescription: String {
    let name = "\(Self.self)"
    return name.hasPrefix("Event<") ? String(name.dropFirst("Event<".count).dropLast()) : name
  }
}
