import Synchronization

/// The living events of the process, for an inspection. Off until the first ``start()``.
///
/// While it is off, making an event and adding a handler load one atomic flag, and a post, a send
/// and a delivery do nothing for it. While it is on, an event joins the registry when it is made,
/// when a handler is added to it, or by ``include(_:)``. The registry keeps no event alive.
///
/// While it is on, each `send` that suspends takes part in the wait graph, and takes the mutex of
/// ``WaitingSends`` when it begins and when it ends. So an inspection also shows waits that began
/// before its client connected.
///
/// **For other modules of the package.** This is the interface of the folder:
///
/// - ``EventRegistry``: it is on until each ``start()`` has had its ``stop()``; ``events`` are the
///   living events.
/// - ``RegisteredEvent/poll(into:isWhole:)`` reads the counters of an event and of its handlers
///   into an ``EventReading``. It takes the core's mutex for a walk over the handlers, runs no
///   delivery, and enqueues nothing.
/// - ``HandlerReading/info`` is the part of a handler's state that never changes: read it once.
/// - ``PolledWait/all()`` reads the waits that began while the registry was on.
/// - ``DeferredWaits/last`` has the last waits in which a call left out some handlers, because
///   these handlers waited for that call.
/// - ``RegisteredEvent/setLocked(_:handler:holding:_:)`` locks and unlocks an event or a handler.
/// - ``GraphEdge/all(of:_:)`` reads forwards, keys and lanes; ``GraphEdge/ofBuses()`` reads buses.
/// - ``InspectedEvent/trace(with:)`` tells a ``TraceSink`` of each occurrence and call of an event,
///   with causes, until ``EventTracing/end()``.
/// - ``InspectionClock`` is the clock of all of these.
///
/// All of it may be called from any thread that holds no mutex. A poll may hold the last reference
/// to an event for a moment. Then the handlers of the event are released on the thread that polls.
package enum EventRegistry {
  /// The number of calls of ``start()`` that no ``stop()`` has taken back.
  private static let users = Atomic<Int>(0)
  private static let entries = Guarded(Entries())
  private static let revisionWord = Atomic<UInt64>(0)

  /// A number that changes when an event joins the registry. An event that is released does not
  /// change the number: the next poll of the event returns false.
  package static var revision: UInt64 { revisionWord.load(ordering: .acquiring) }

  private struct Entries {
    var events: [UInt64: RegisteredEvent] = [:]
    var buses: [RegisteredBus] = []
    var lastBus: UInt64 = 0
    /// The number of registered events above which `join` removes the events that are gone.
    var limit = 64
  }

  /// Whether the registry is on, so that events join. One relaxed load.
  static var isOn: Bool { users.load(ordering: .relaxed) > 0 }

  /// Turns the registry on, so that events join it. The registry stays on until ``stop()`` has been
  /// called once for each call of ``start()``.
  package static func start() {
    _ = InspectionClock.now
    users.wrappingAdd(1, ordering: .relaxed)
    WaitingSends.watch(+1)
  }

  /// Takes back one call of ``start()``. If no call is left, turns the registry off and empties it.
  package static func stop() {
    WaitingSends.watch(-1)
    guard users.wrappingSubtract(1, ordering: .relaxed).newValue == 0 else { return }
    let gone = entries.withLock { entries -> ([RegisteredEvent], [RegisteredBus]) in
      defer { (entries.events, entries.buses) = ([:], []) }
      return (Array(entries.events.values), entries.buses)
    }
    withExtendedLifetime(gone) {}  // released after the unlock
  }

  /// Adds events that were made before ``start()``, and buses with the events that they make.
  package static func include(_ registry: some HandlerRegistry) {
    let table = registry.handlerTable
    for event in table.inspected {
      let hasHandlers = event.anchor.core.map { core in core.mutex.withLock { unsafe core.table.count > 0 } } ?? false
      join(event.anchor, event.name, event.kind, hasHandler: hasHandlers)
    }
    if case .bus(let bus) = table.content { include(bus: bus) }
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

  /// Adds an event, unless it is there. Called while the registry is on.
  ///
  /// - Parameter hasHandler: Whether the event has or had a handler.
  @inline(never) static func join(
    _ anchor: EventAnchor, _ name: String?, _ kind: InspectedEvent.Kind? = nil, hasHandler: Bool
  ) {
    let core = anchor.core
    if core?.type == NoPayload.self { return }
    let known = kind ?? core.map { $0.inspectedKind } ?? .event
    let event = RegisteredEvent(anchor, name, core?.contentType ?? Any.self, known, sequence: core?.sequence ?? 0)
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

  /// The living events, by number. Forgets events that are gone.
  package static var events: [RegisteredEvent] {
    let all = entries.withLock { Array($0.events.values) }
    let gone = all.filter { $0.anchor.core == nil }
    let ids = Set(gone.map(\.id))
    entries.withLock { entries in
      for id in ids { entries.events[id] = nil }
      entries.limit = max(64, 2 * entries.events.count)
    }
    return all.filter { !ids.contains($0.id) }.sortedUnspecialized { $0.id < $1.id }
  }

  /// The number of events that the registry knows, including events that have just gone.
  package static var count: Int { entries.withLock { $0.events.count } }

  /// The buses that ``include(_:)`` has added and that still exist, with their numbers.
  static var buses: [(id: UInt64, bus: EventBus)] {
    let all = entries.withLock { $0.buses }
    return all.compactMap { entry in entry.bus.map { (entry.id, $0) } }
  }
}

/// A bus in the registry, which does not keep it alive.
final class RegisteredBus: Sendable {
  let id: UInt64
  let address: ObjectIdentifier
  private weak let weakBus: EventBus?

  init(id: UInt64, _ bus: EventBus) {
    self.id = id
    address = ObjectIdentifier(bus)
    weakBus = bus
  }

  /// The bus; `nil` if it is gone. Never read under a mutex.
  var bus: EventBus? {
    assertNoMutexIsHeld("read a weak reference")
    return weakBus
  }

  /// Returns whether `bus` is the registered bus. The caller has found `bus` at ``address``, where
  /// a later bus may have been made after the end of the registered one. May be called under a
  /// mutex: the caller retains `bus`, so the read of the weak reference does not release a bus.
  func wasSeen(_ bus: EventBus) -> Bool { weakBus === bus }
}

extension EventCore {
  /// The kind of the event, as far as its core knows. Complexity: O(1).
  var inspectedKind: InspectedEvent.Kind {
    if let pendingWork = pendingWorkReference.load() {
      let hasKeys = mutex.withLock { unsafe pendingWork.keyIndex != nil }
      if hasKeys { return .keyed }
    }
    switch type {
    case is any QuestionPayload.Type: return .question
    case is any ChangePayload.Type: return .observed
    default: return .event
    }
  }

  /// The type of the payloads, as users know it.
  var contentType: Any.Type { (type as? any PayloadEnvelope.Type)?.contents ?? type }
}

/// Marks the payload type (``Inquiry``) of an event that brings a question to its responders.
/// ``EventCore/inspectedKind`` looks for this protocol to recognize such an event.
protocol QuestionPayload {}
extension Inquiry: QuestionPayload {}

/// Marks the payload type (``ValueChange``) of an event that delivers the changes of an observed
/// value. ``EventCore/inspectedKind`` looks for this protocol to recognize such an event.
protocol ChangePayload {}
extension ValueChange: ChangePayload {}
