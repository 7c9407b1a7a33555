/// Events are visited by number, because the order of dictionaries depends on addresses.
typealias NumberedEvent = (number: Int, event: any AnyEvent)

/// No weak reference to an owner is read here: under a mutex, the read could run the owner's
/// `deinit`. Guarded by: EventBus.mutex.
struct OwnedEvents: Sendable {
  struct Entry: Sendable {
    let owner: Owner
    var events: [(key: String, event: any AnyEvent, number: Int)] = []
  }

  private var entries: [ObjectIdentifier: Entry] = [:]
  private var addresses: [ObjectIdentifier] = []
  private var swept = 0

  private var lastNumber = 0

  mutating func nextNumber() -> Int {
    lastNumber += 1
    return lastNumber
  }

  var all: [NumberedEvent] { entries.values.flatMap { $0.events.map { ($0.number, $0.event) } } }

  func owner(at address: ObjectIdentifier) -> Owner? { entries[address]?.owner }

  /// `body` must not let the array escape, because it's modified in place under the mutex. The
  /// array's reference count would make a read outside the mutex safe, but the thread sanitizer
  /// doesn't see that.
  func with<Result>(
    _ owner: Owner, _ body: ([(key: String, event: any AnyEvent, number: Int)]) -> Result
  ) -> Result? {
    entries[owner.objectID].flatMap { $0.owner === owner ? body($0.events) : nil }
  }

  /// - Parameter stale: Set to the entry of an earlier object at the address. The caller releases
  ///   it after unlocking.
  mutating func add(
    _ made: any AnyEvent, _ name: String, at address: ObjectIdentifier, newOwner owner: Owner?,
    stale: inout Entry?
  ) -> any AnyEvent {
    if let owner {
      stale = entries.updateValue(Entry(owner: owner), forKey: address)
      if stale == nil { addresses.append(address) }
    }
    if let found = entries[address]?.events.first(where: { $0.key == name }) { return found.event }
    let number = nextNumber()
    entries[address]?.events.append((name, made, number))
    return made
  }

  mutating func remove(_ name: String, of owner: Owner) -> (any AnyEvent)? {
    guard let at = with(owner, { $0.firstIndex { $0.key == name } }) ?? nil else { return nil }
    return entries[owner.objectID]?.events.remove(at: at).event
  }

  mutating func removeAll(of owner: Owner) -> [any AnyEvent] {
    guard let events = with(owner, { $0.map(\.event) }) else { return [] }
    entries[owner.objectID]?.events = []
    return events
  }

  // MARK: Sweeping

  mutating func nextToSweep() -> [(index: Int, owner: Owner)] {
    if addresses.isEmpty { return [] }
    return (0..<Sweep.count).compactMap { _ in
      swept = (swept + 1) % addresses.count
      return entries[addresses[swept]].map { (swept, $0.owner) }
    }
  }

  mutating func take(_ owner: Owner, at index: Int) -> Entry? {
    guard index < addresses.count, let entry = entries[addresses[index]], entry.owner === owner else { return nil }
    entries[addresses[index]] = nil
    addresses.swapAt(index, addresses.count - 1)
    addresses.removeLast()
    entries.giveBackRoom()
    addresses.giveBackRoom()
    return entry
  }
}
