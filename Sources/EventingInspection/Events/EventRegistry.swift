import Eventing
import Synchronization

/// The registry keeps no event alive. It is off until the first ``start()``: then making an event
/// and adding a handler load one atomic flag, and deliveries do nothing for it. While it is on, an
/// event joins when it is made, when it gets a handler, or by ``include(_:)``.
enum EventRegistry {
  private static let entries = Guarded(Entries())
  private static let revisionWord = Atomic<UInt64>(0)

  /// Changes when an event joins. An event that is released changes nothing: its next poll returns
  /// false.
  static var revision: UInt64 { revisionWord.load(ordering: .acquiring) }

  private struct Entries {
    /// Calls of ``start()`` without their ``stop()``.
    var users = 0
    var events: [UInt64: RegisteredEvent] = [:]
    var buses: [RegisteredBus] = []
    var lastBus: UInt64 = 0
    /// Above this number of entries, `join` removes the events that are gone.
    var limit = 64
  }

  /// The registry stays on until ``stop()`` has been called as often.
  static func start() {
    _ = InspectionClock.now
    entries.withLock { $0.users += 1 }
    Instruments.add(InspectionInstrument.shared)
  }

  static func stop() {
    Instruments.remove(InspectionInstrument.shared)
    let gone = entries.withLock { entries -> ([RegisteredEvent], [RegisteredBus])? in
      entries.users -= 1
      guard entries.users == 0 else { return nil }
      defer { (entries.events, entries.buses) = ([:], []) }
      return (Array(entries.events.values), entries.buses)
    }
    if gone != nil { DeferredWaits.removeAll() }  // `gone` is released after the unlock
  }

  /// Registers events that were created before ``start()``, and buses, so that the events that these
  /// create later are found.
  static func include(_ registry: some HandlerRegistry) {
    let table = registry.handlerTable
    for event in table.inspected {
      let hasHandlers = event.anchor.core.map { core in core.mutex.withLock { core.table.count > 0 } } ?? false
      join(event.anchor, event.name, event.kind, hasHandler: hasHandlers)
    }
    if let bus = table.bus { include(bus: bus) }
  }

  private static func include(bus: EventBus) {
    let id = ObjectIdentifier(bus)
    entries.withLock { entries in
      // An entry with this address may be that of an earlier bus, which is gone.
      if let at = entries.buses.firstIndex(where: { $0.address == id }) {
        if entries.buses[at].wasSeen(bus) { return }
        entries.buses.remove(at: at)
      }
      entries.lastBus += 1
      entries.buses.append(RegisteredBus(id: entries.lastBus, bus))
    }
  }

  static func join(
    _ anchor: EventAnchor, _ name: String?, _ kind: HandlerTable.Kind? = nil, hasHandler: Bool
  ) {
    guard let core = anchor.core, core.type != NoPayload.self else { return }
    let event = RegisteredEvent(
      anchor, core.identity, kind ?? core.inspectedKind, sequence: core.sequence)
    let mustSweep = entries.withLock { entries -> Bool in
      let joined = entries.events[event.id] ?? event
      if joined === event {
        entries.events[event.id] = event
        revisionWord.wrappingAdd(1, ordering: .releasing)
      }
      if hasHandler { joined.hasHadHandler.store(true, ordering: .relaxed) }
      if let kind { joined.note(kind) }
      return entries.events.count > entries.limit
    }
    if mustSweep { _ = events }
  }

  static var events: [RegisteredEvent] {
    let all = entries.withLock { Array($0.events.values) }
    let gone = all.filter { $0.anchor.core == nil }
    let ids = Set(gone.map(\.id))
    entries.withLock { entries in
      for id in ids { entries.events[id] = nil }
      entries.limit = max(64, 2 * entries.events.count)
    }
    return all.filter { !ids.contains($0.id) }.sorted { $0.id < $1.id }
  }

  static var count: Int { entries.withLock { $0.events.count } }

  /// Buses that ``include(_:)`` has added.
  static var buses: [(id: UInt64, bus: EventBus)] {
    let all = entries.withLock { $0.buses.map { $0 } }
    return all.compactMap { entry in entry.bus.map { (entry.id, $0) } }
  }
}

/// Does not keep the bus alive.
final class RegisteredBus: Sendable {
  let id: UInt64
  let address: ObjectIdentifier
  private weak let weakBus: EventBus?

  init(id: UInt64, _ bus: EventBus) {
    self.id = id
    address = ObjectIdentifier(bus)
    weakBus = bus
  }

  /// Never read under a mutex.
  var bus: EventBus? {
    assertNoMutexIsHeld("read a weak reference")
    return weakBus
  }

  /// A later bus may be at ``address``. May be called under a mutex: the caller retains `bus`, so
  /// reading the weak reference releases nothing.
  func wasSeen(_ bus: EventBus) -> Bool { weakBus === bus }
}

extension EventCore {
  /// The core does not know all kinds.
  var inspectedKind: HandlerTable.Kind {
    if let rareState = rareStateReference.load() {
      let hasKeys = mutex.withLock { rareState.keyIndex != nil }
      if hasKeys { return .keyed }
    }
    switch type {
    case is any QuestionPayload.Type: return .question
    case is any ChangePayload.Type: return .observed
    default: return .event
    }
  }
}

/// Marks the payload type of a question's event, for ``EventCore/inspectedKind``.
protocol QuestionPayload {}
extension Inquiry: QuestionPayload {}
