/// An event of a bus, with a number that grows in the order in which the bus made its events.
///
/// The bus finds its events with dictionaries, whose order depends on addresses. Whatever goes
/// through several events goes in the order of their numbers, which does not.
typealias NumberedEvent = (number: Int, event: any AnyEvent)

/// The events of owners on a bus, by owner and name.
///
/// A value without synchronization. Guarded by: EventBus.mutex. An `Owner` has a weak reference to
/// the owner. No code here reads it, because under a mutex the read could run the owner's `deinit`.
/// The bus reads it outside of the mutex.
struct OwnedEvents: Sendable {
  /// The events of one owner, in the order in which they were made.
  struct Entry: Sendable {
    let owner: Owner
    var events: [(key: String, event: any AnyEvent, number: Int)] = []
  }

  /// The events of each owner, by the owner's address.
  private var entries: [ObjectIdentifier: Entry] = [:]
  /// The addresses of the owners, in the order of ``nextToSweep()``.
  private var addresses: [ObjectIdentifier] = []
  /// The index in `addresses` of the owner that ``nextToSweep()`` returned last.
  private var swept = 0

  /// The number of the event that the bus made last.
  private var lastNumber = 0

  /// Returns the number of a new event of the bus, found by type or by owner.
  mutating func nextNumber() -> Int {
    lastNumber += 1
    return lastNumber
  }

  /// The events of all owners, each with its number, in no order.
  var all: [NumberedEvent] { entries.values.flatMap { $0.events.map { ($0.number, $0.event) } } }

  /// Returns the weak reference to the owner at an address. The owner may be gone.
  func owner(at address: ObjectIdentifier) -> Owner? { entries[address]?.owner }

  /// Returns the result of `body` for the events of an owner; `nil` if the owner has no entry.
  ///
  /// `body` must not let the array escape, because the array is changed in place under the mutex. A
  /// read outside the mutex would be safe: the array's reference count orders a later change after
  /// the read. But the thread sanitizer does not see reference counts, and would report a race.
  func with<Result>(
    _ owner: Owner, _ body: ([(key: String, event: any AnyEvent, number: Int)]) -> Result
  ) -> Result? {
    entries[owner.objectID].flatMap { $0.owner === owner ? body($0.events) : nil }
  }

  /// Adds an event, unless the owner has one of that name.
  ///
  /// - Parameters:
  ///   - owner: A weak reference to the owner, for a new entry; `nil` if the owner has an entry.
  ///     The owner needs a new entry if there is no entry at its address, or if the entry there
  ///     belongs to an object that is gone.
  ///   - stale: Receives the entry of the object that is gone, if there is one. The caller must
  ///     release the entry after the unlock.
  /// - Returns: The owner's event of that name.
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

  /// Removes and returns an event of an owner; `nil` if there is none of that name.
  mutating func remove(_ name: String, of owner: Owner) -> (any AnyEvent)? {
    guard let at = with(owner, { $0.firstIndex { $0.key == name } }) ?? nil else { return nil }
    return entries[owner.objectID]?.events.remove(at: at).event
  }

  /// Removes and returns all events of an owner, whose entry stays.
  mutating func removeAll(of owner: Owner) -> [any AnyEvent] {
    guard let events = with(owner, { $0.map(\.event) }) else { return [] }
    entries[owner.objectID]?.events = []
    return events
  }

  // MARK: Sweeping

  /// Returns the next ``Sweep/count`` owners; after the last owner, the first one is next again.
  /// The bus checks the returned owners, and removes the entry of each one that is gone: see
  /// ``take(_:at:)``.
  mutating func nextToSweep() -> [(index: Int, owner: Owner)] {
    if addresses.isEmpty { return [] }
    return (0..<Sweep.count).compactMap { _ in
      swept = (swept + 1) % addresses.count
      return entries[addresses[swept]].map { (swept, $0.owner) }
    }
  }

  /// Removes and returns the entry of an owner, unless another thread has removed it.
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
